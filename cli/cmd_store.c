/* cmd_store.c - ringfence store: what the service has kept (export, purge, stats) */
#include "commands.h"

#include "base/plural.h"
#include "json_text.h"
#include "screen.h"
#include "store_export.h"
#include "when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All options; each verb reads its own. */
typedef struct store_options {
    bool open, labelled, all, json;
    const char *since, *until, *before, *older_than, *text, *output;
    int format;
} store_options;

/* In the order of export_format. */
static const char *const formats[] = {"tsv", "jsonl", NULL};

/* A time of an option; false after a message. NULL: *ms stays. */
static bool read_time(const char *verb, const char *name, const char *text, int64_t *ms)
{
    if (!text || when_since(text, store_now_ms(), ms))
        return true;
    screen_complain("store %s: --%s is \"%s\", wanted a time such as 24h, 7d, 2026-11-18 "
                    "or 2026-11-18T10:00:00Z",
                    verb, name, text);
    return false;
}

/* ---- export ------------------------------------------------------------------------ */

static int do_export(const char *path, const store_options *o)
{
    rf_error err = {0};
    store_filter f = {.open = o->open, .judged = o->labelled};
    size_t rows, without;
    if (!read_time("export", "since", o->since, &f.from_ms) ||
        !read_time("export", "until", o->until, &f.to_ms))
        return EXIT_USAGE;
    if (command_would_overwrite(o->output, path)) {
        screen_complain("store export: the rows would overwrite %s; wanted another name "
                        "after -o",
                        path);
        return EXIT_USAGE;
    }
    store *s = store_open(path, STORE_READ, &err);
    if (!s)
        return command_failed(&err);
    rf_status st =
        store_export(s, &f, (export_format)o->format, o->output, &rows, &without, &err);
    store_close(s);
    if (st != RF_OK)
        return command_failed(&err);
    if (without)
        screen_complain("store export: left out %zu %s of which only a hash was kept; "
                        "--format jsonl has them",
                        without, rf_plural(without, "row", "rows"));
    return command_finish();
}

/* ---- purge ------------------------------------------------------------------------- */

static int do_purge(const char *path, const store_options *o)
{
    rf_error err = {0};
    size_t removed;
    int64_t length = 0, now = store_now_ms();
    store_purge_what what = {
        .all = o->all, .text = o->text, .text_len = o->text ? strlen(o->text) : 0};
    if (o->before && !when_date(o->before, &what.before_ms)) {
        screen_complain("store purge: --before is \"%s\", wanted a day such as "
                        "2026-11-18, or 2026-11-18T10:00:00Z",
                        o->before);
        return EXIT_USAGE;
    }
    if (o->older_than && !when_length(o->older_than, &length)) {
        screen_complain("store purge: --older-than is \"%s\", wanted a length of time "
                        "such as 12h or 7d",
                        o->older_than);
        return EXIT_USAGE;
    }
    if (o->older_than && now - length > what.before_ms)
        what.before_ms = now - length;
    if (!what.all && !o->before && !o->older_than && !what.text) {
        screen_complain("store purge: which rows? Wanted --before, --older-than, --text "
                        "or --all");
        return EXIT_USAGE;
    }
    store *s = store_open(path, STORE_WRITE, &err);
    if (!s)
        return command_failed(&err);
    const char *who = getenv("USER");
    rf_status st =
        store_purge(s, &what, who && *who ? who : "unknown", now, &removed, &err);
    store_close(s);
    if (st != RF_OK)
        return command_failed(&err);
    if (o->json)
        printf("{\"purged\": %zu}\n", removed);
    else
        printf("%s: purged %zu %s\n", path, removed, rf_plural(removed, "row", "rows"));
    return command_finish();
}

/* ---- stats ------------------------------------------------------------------------- */

static void put_time(const char *key, int64_t ms)
{
    char text[WHEN_TEXT];
    printf(", \"%s\": ", key);
    if (ms)
        json_put_name(stdout, when_write(text, ms));
    else
        fputs("null", stdout);
}

static void print_json(const char *path, const store_stats *s)
{
    fputs("{\"file\": ", stdout);
    json_put_name(stdout, path);
    printf(", \"bytes\": %lld, \"rows\": %llu, \"open\": %llu, \"hashed\": %llu, "
           "\"judged\": %llu, \"answers\": %llu, \"answers_open\": %llu",
           (long long)s->bytes, (unsigned long long)s->rows, (unsigned long long)s->open,
           (unsigned long long)s->hashed, (unsigned long long)s->judged,
           (unsigned long long)s->answers, (unsigned long long)s->answers_open);
    put_time("first", s->first_ms);
    put_time("last", s->last_ms);
    fputs(", \"days\": [", stdout);
    for (size_t i = 0; i < s->n_days; i++)
        printf("%s{\"day\": \"%s\", \"rows\": %llu, \"open\": %llu, \"answers\": %llu, "
               "\"answers_open\": %llu}",
               i ? ", " : "", s->days[i].day, (unsigned long long)s->days[i].rows,
               (unsigned long long)s->days[i].open,
               (unsigned long long)s->days[i].answers,
               (unsigned long long)s->days[i].answers_open);
    fputs("], \"models\": [", stdout);
    for (size_t i = 0; i < s->n_models; i++) {
        printf("%s{\"sha256\": \"%s\", \"rows\": %llu, \"answers\": %llu", i ? ", " : "",
               s->models[i].sha256, (unsigned long long)s->models[i].rows,
               (unsigned long long)s->models[i].answers);
        put_time("first", s->models[i].first_ms);
        fputs("}", stdout);
    }
    fputs("]}\n", stdout);
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0.0;
}

static void print_text(const char *path, const store_stats *s)
{
    char first[WHEN_TEXT], last[WHEN_TEXT];
    printf("%s: %.1f MiB\n", path, (double)s->bytes / 1048576.0);
    printf("rows       %llu (%.1f %% open), %llu with a label by a person",
           (unsigned long long)s->rows, percent(s->open, s->rows),
           (unsigned long long)s->judged);
    if (s->hashed)
        printf(", %llu as hashes", (unsigned long long)s->hashed);
    printf("\nanswers    %llu (%.1f %% open)\n", (unsigned long long)s->answers,
           percent(s->answers_open, s->answers));
    if (s->rows)
        printf("from       %s\nto         %s\n", when_write(first, s->first_ms),
               when_write(last, s->last_ms));
    if (s->n_days)
        printf("\n%-12s %10s %10s %10s %8s\n", "day", "rows", "open", "answers", "open");
    for (size_t i = 0; i < s->n_days; i++) {
        const store_day *d = &s->days[i];
        printf("%-12s %10llu %10llu %10llu %6.1f %%\n", d->day,
               (unsigned long long)d->rows, (unsigned long long)d->open,
               (unsigned long long)d->answers, percent(d->answers_open, d->answers));
    }
    if (s->n_models)
        printf("\n%-64s %10s %10s\n", "model (sha256 of its file)", "rows", "answers");
    for (size_t i = 0; i < s->n_models; i++)
        printf("%-64s %10llu %10llu\n", s->models[i].sha256,
               (unsigned long long)s->models[i].rows,
               (unsigned long long)s->models[i].answers);
}

static int do_stats(const char *path, const store_options *o)
{
    rf_error err = {0};
    store_stats stats;
    store *s = store_open(path, STORE_READ, &err);
    if (!s)
        return command_failed(&err);
    rf_status st = store_stats_read(s, &stats, &err);
    store_close(s);
    if (st != RF_OK)
        return command_failed(&err);
    if (o->json)
        print_json(path, &stats);
    else
        print_text(path, &stats);
    store_stats_release(&stats);
    return command_finish();
}

/* ---- The command line -------------------------------------------------------------- */

static const struct verb {
    const char *name;
    int (*run)(const char *path, const store_options *o);
    command as; /* its name in help and messages */
    const char *options;
} verbs[] = {
    {"export",
     do_export,
     {.name = "store export", .synopsis = "FILE.db [OPTIONS]"},
     " open labelled since until format output "},
    {"purge",
     do_purge,
     {.name = "store purge",
      .synopsis = "FILE.db --before DATE | --older-than T | --text TEXT | --all"},
     " before older-than text all json "},
    {"stats",
     do_stats,
     {.name = "store stats", .synopsis = "FILE.db [--json]"},
     " json "},
};
#define N_VERBS (sizeof verbs / sizeof verbs[0])
#define N_OPTIONS 14

static void list_options(store_options *o, option out[N_OPTIONS])
{
    const option all[N_OPTIONS] = {
        {.help = "export"},
        {.name = "open",
         .kind = OPTION_FLAG,
         .value = &o->open,
         .help = "Open answers alone."},
        {.name = "labelled",
         .kind = OPTION_FLAG,
         .value = &o->labelled,
         .help = "Rows alone that people have labelled."},
        {.name = "since",
         .kind = OPTION_TEXT,
         .value = &o->since,
         .arg = "TIME",
         .help = "From this time on: 24h, 7d, 2026-11-18 or 2026-11-18T10:00:00Z (UTC)."},
        {.name = "until",
         .kind = OPTION_TEXT,
         .value = &o->until,
         .arg = "TIME",
         .help = "Before this time."},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &o->format,
         .arg = "FORMAT",
         .choices = formats,
         .help = "tsv (default) or jsonl."},
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &o->output,
         .arg = "FILE",
         .help = "Write to this file instead of standard output."},
        {.help = "purge; several are possible together"},
        {.name = "before",
         .kind = OPTION_TEXT,
         .value = &o->before,
         .arg = "DATE",
         .help = "Rows before this day or time, UTC."},
        {.name = "older-than",
         .kind = OPTION_TEXT,
         .value = &o->older_than,
         .arg = "T",
         .help = "Rows older than this: 12h, 7d."},
        {.name = "text",
         .kind = OPTION_TEXT,
         .value = &o->text,
         .arg = "TEXT",
         .help = "Rows with exactly this text, or its hash."},
        {.name = "all",
         .kind = OPTION_FLAG,
         .value = &o->all,
         .help = "All rows, and the hourly counts."},
        {.help = "purge, stats"},
        {.name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "Print JSON."},
    };
    memcpy(out, all, sizeof all);
}

/* The options of a verb, without headings. */
static size_t keep_options(const struct verb *v, option *options)
{
    size_t kept = 0;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        char name[32];
        if (!options[i].name)
            continue;
        snprintf(name, sizeof name, " %s ", options[i].name);
        if (strstr(v->options, name))
            options[kept++] = options[i];
    }
    return kept;
}

static int run_store(const command *self, int argc, char **argv)
{
    store_options o = {0};
    option options[N_OPTIONS];
    size_t n = 0, i = 0;
    const char *path = NULL;
    list_options(&o, options);
    while (argc > 1 && i < N_VERBS && strcmp(argv[1], verbs[i].name) != 0)
        i++;
    if (argc < 2 || i == N_VERBS) {
        if (argc > 1 && argv[1][0] == '-' &&
            options_parse(self, options, N_OPTIONS, argc, argv, &path, 0, &n) ==
                PARSE_DONE)
            return command_finish();
        screen_complain("store: wanted one of: %s", self->synopsis);
        return EXIT_USAGE;
    }
    const struct verb *v = &verbs[i];
    command as = v->as;
    as.summary = self->summary;
    as.details = self->details;
    switch (options_parse(&as, options, keep_options(v, options), argc - 1, argv + 1,
                          &path, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n == 1)
        return v->run(path, &o);
    screen_complain("%s: which file? Wanted ringfence %s %s", as.name, as.name,
                    as.synopsis);
    return EXIT_USAGE;
}

const command command_store = {
    .name = "store",
    .synopsis = "export | purge | stats FILE.db [OPTIONS]",
    .summary = "Texts that the service has kept: export, delete, count.",
    .details =
        "export  the rows as a table that fence, eval and update read: text, label,\n"
        "        answer, confidence, margin, nearest, time, model, source, row. The\n"
        "        label is what a person said, else the answer.\n"
        "purge   delete rows such that no byte of them is left in the file\n"
        "stats   rows, share of open ones, by day and by model, size\n\n"
        "FILE.db is what ringfence serve --store has written. The service may be "
        "running.",
    .run = run_store,
};
