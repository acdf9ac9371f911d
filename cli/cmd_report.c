/* cmd_report.c - ringfence report: writes a page about a model and a test set */
#include "commands.h"

#include "data_options.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define OWN_OPTIONS 5

static int show_progress(void *user, const char *line)
{
    (void)user;
    screen_progress_line(false, "%s", line);
    return 0;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int write_report(const char *const *paths, size_t n, const char *output,
                        const data_options *d, rf_report_options *o)
{
    rf_error err = {0};
    char title[2 * DATA_NAME], name[DATA_NAME];
    snprintf(title, sizeof title, "%s on %s", file_name(paths[0]),
             data_title(name, paths + 1, n - 1));
    o->title = o->title ? o->title : title;
    o->progress = show_progress;
    if (command_can_write(output, &err) != RF_OK)
        return command_failed(&err);
    rf_model *model = rf_model_load(paths[0], &err);
    rf_dataset *data =
        model ? data_options_read_test(d, paths + 1, n - 1, model, &err) : NULL;
    rf_status st = data ? rf_report_model(model, data, o, output, &err) : err.code;
    screen_progress_end();
    rf_dataset_free(data);
    rf_model_free(model);
    return st == RF_OK ? command_finish() : command_failed(&err);
}

static int run_report(const command *self, int argc, char **argv)
{
    const char *paths[1 + DATA_FILES] = {0}, *output = NULL;
    size_t n, seed = 0;
    data_options d = {0};
    rf_report_options o = rf_report_options_default();
    option options[OWN_OPTIONS + DATA_OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &output,
         .arg = "FILE",
         .help = "Where to write the page (required); an existing file is replaced."},
        {.name = "title",
         .kind = OPTION_TEXT,
         .value = &o.title,
         .arg = "T",
         .help = "Title of the page (default: the names of the two files)."},
        {.name = "max-points",
         .kind = OPTION_SIZE,
         .value = &o.max_points,
         .arg = "N",
         .help = "Maximum number of texts on the map; larger sets are sampled at random",
         .shows_number = true,
         .min = 1,
         .max = 100000},
        {.name = "seed",
         .kind = OPTION_SIZE,
         .value = &seed,
         .arg = "N",
         .help = "Seed of that sample",
         .shows_number = true,
         .max = SIZE_MAX},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The page is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    data_options_list(&d, options + OWN_OPTIONS);
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          paths, 1 + DATA_FILES, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n < 2 || !output) {
        screen_complain(
            "%s: wanted MODEL, TEST (a file, or - for standard input) and -o FILE",
            self->name);
        return EXIT_USAGE;
    }
    if (data_would_be_overwritten(output, paths, n)) {
        screen_complain("%s: the page would overwrite %s; wanted another name after -o",
                        self->name, output);
        return EXIT_USAGE;
    }
    o.seed = seed;
    return write_report(paths, n, output, &d, &o);
}

const command command_report = {
    .name = "report",
    .synopsis = "MODEL TEST... -o FILE [OPTIONS]",
    .summary = "Write a page about a model and its results on labelled texts.",
    .details =
        "TEST is one or more files of texts and their labels, as train reads them, or -\n"
        "for standard input. Every label that the model does not know counts as open.\n\n"
        "The page is one self-contained HTML file: figures with explanations, margins "
        "of\n"
        "known and open texts, a map of the texts, every class, the worst confusions,\n"
        "and texts worth a look. It contains texts of TEST: send it only to people who\n"
        "may read them.",
    .run = run_report,
};
