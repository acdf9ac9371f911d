/* cmd_drift.c - ringfence drift: do the last hours differ from the week before? */
#include "commands.h"

#include "base/plural.h"
#include "screen.h"
#include "store/drift.h"
#include "when.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXIT_DRIFT 3

typedef struct request {
    drift_options o;
    const char *against, *now;
    bool json;
} request;

static const char *verdict(const drift_test *t)
{
    return t->drifted ? "DRIFT" : "no drift";
}

/* "open answers   9.1 % -> 50.0 %   p 1.2e-09   DRIFT" */
static void print_test(const char *name, const drift_test *t, double factor,
                       const char *unit)
{
    printf("%-14s ", name);
    if (isfinite(t->before) && isfinite(t->after))
        printf("%9.3g%s -> %9.3g%s   ", factor * t->before, unit, factor * t->after,
               unit);
    if (t->why_not)
        printf("not tested: %s\n", t->why_not);
    else
        printf("p %-8.2g %s\n", t->p_holm, verdict(t));
}

static void print_classes(const drift_report *r)
{
    const drift_test *t = &r->classes;
    printf("%-14s ", "classes");
    if (t->why_not) {
        printf("not tested: %s\n", t->why_not);
        return;
    }
    printf("%26s p %-8.2g %s\n", "", t->p_holm, verdict(t));
    for (size_t i = 0; i < r->n_top && t->drifted; i++) {
        char label[80];
        const drift_class *c = &r->top[i];
        const char *name = c->label ? c->label : "(all classes with few answers)";
        printf("  %-30s %6.2f %% -> %6.2f %%\n",
               screen_one_line(label, sizeof label, name, strlen(name)),
               100.0 * c->before, 100.0 * c->after);
    }
}

static void print_report(const drift_report *r)
{
    char from[WHEN_TEXT], to[WHEN_TEXT], start[WHEN_TEXT];
    printf("%.0f answers from %.16sZ to %.16sZ, against %.0f before, from %.16sZ on, in "
           "%zu %s\n",
           r->answers, when_write(from, r->from * STORE_HOUR_MS),
           when_write(to, r->to * STORE_HOUR_MS), r->answers_before,
           when_write(start, r->against_from * STORE_HOUR_MS), r->blocks,
           rf_plural(r->blocks, "period", "periods"));
    if (r->model[0])
        printf("model %s\n", r->model);
    print_test("open answers", &r->open, 100.0, " %");
    print_test("mean margin", &r->margin, 1.0, "  ");
    print_classes(r);
}

static rf_status print_json(const drift_report *r, rf_error *err)
{
    rf_text t;
    rf_text_init(&t, (size_t)1 << 20, "a report");
    drift_write_json(r, &t);
    rf_status st = t.status;
    if (st == RF_OK)
        fwrite(t.buffer.data, 1, t.buffer.len, stdout);
    else
        rf_fail(err, st, 0, "no memory for a report");
    rf_text_release(&t);
    return st;
}

static bool read_times(request *q)
{
    int64_t ms;
    if (q->against) {
        if (!when_length(q->against, &ms) || ms < STORE_HOUR_MS) {
            screen_complain("drift: --against is \"%s\", wanted a length of time from 1h "
                            "on, such as 7d",
                            q->against);
            return false;
        }
        q->o.against_hours = (size_t)(ms / STORE_HOUR_MS);
    }
    if (q->o.model &&
        (strlen(q->o.model) != 64 || strspn(q->o.model, "0123456789abcdef") != 64)) {
        screen_complain("drift: --model is \"%s\", wanted the sha256 of a model file: 64 "
                        "digits; ringfence store stats shows them",
                        q->o.model);
        return false;
    }
    if (q->now && !when_date(q->now, &q->o.now_ms)) {
        screen_complain("drift: --now is \"%s\", wanted a time such as "
                        "2026-11-18T10:00:00Z",
                        q->now);
        return false;
    }
    return true;
}

static int run_drift(const command *self, int argc, char **argv)
{
    request q = {.o = drift_options_default()};
    const char *path = NULL;
    size_t n;
    const option options[] = {
        {.name = "hours",
         .kind = OPTION_SIZE,
         .value = &q.o.hours,
         .arg = "N",
         .help = "Look at the last N whole hours",
         .shows_number = true,
         .min = 1,
         .max = 24 * 366},
        {.name = "against",
         .kind = OPTION_TEXT,
         .value = &q.against,
         .arg = "T",
         .help = "Compare with this time before them (default 7d)."},
        {.name = "alpha",
         .kind = OPTION_SHARE,
         .value = &q.o.alpha,
         .arg = "P",
         .help = "Share of false alarms to accept when nothing has changed",
         .shows_number = true,
         .least = 1e-12,
         .most = 0.5},
        {.name = "model",
         .kind = OPTION_TEXT,
         .value = &q.o.model,
         .arg = "SHA256",
         .help = "Answers of this model (default: the one with the most answers in those "
                 "hours)."},
        {.name = "now",
         .kind = OPTION_TEXT,
         .value = &q.now,
         .arg = "TIME",
         .help = "Look back from this time instead of now."},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &q.json,
         .help = "Print what GET /v1/drift returns."},
    };
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          &path, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n == 0) {
        screen_complain("%s: which file? Wanted FILE.db", self->name);
        return EXIT_USAGE;
    }
    if (!read_times(&q))
        return EXIT_USAGE;
    rf_error err = {0};
    drift_report report = {0};
    store *s = store_open(path, STORE_READ, &err);
    rf_status st = s ? drift_run(s, &q.o, &report, &err) : err.code;
    store_close(s);
    if (st == RF_OK && q.json)
        st = print_json(&report, &err);
    else if (st == RF_OK)
        print_report(&report);
    bool drifted = report.drifted;
    drift_report_release(&report);
    if (st != RF_OK)
        return command_failed(&err);
    int code = command_finish();
    return code == 0 && drifted ? EXIT_DRIFT : code;
}

const command command_drift = {
    .name = "drift",
    .synopsis = "FILE.db [--hours N] [--against T] [OPTIONS]",
    .summary = "Warn if answers of the last hours differ from those of the week before.",
    .details =
        "Compares the share of open answers, the mean margin of the others, and the\n"
        "shares of the classes with the time before, and exits with 3 if any has\n"
        "changed. How much hours differ anyway is part of the tests, and p is corrected\n"
        "for their number.\n\n"
        "FILE.db is what ringfence serve --store has written; every answer counts, kept "
        "or not.\n"
        "For cron, a few minutes after the hour:\n\n"
        "5 * * * *  ringfence drift /var/lib/ringfence/texts.db >drift.txt || mail "
        "...\n\n"
        "docs/SERVE.md states the tests. Exit status: 0 no drift, 1 failed, 2 wrong "
        "usage,\n"
        "3 drift.",
    .run = run_drift,
};
