/* cmd_tune.c - settings for labelled texts, chosen by hiding some of their classes */
#include "commands.h"

#include "base/file.h"
#include "base/json.h"
#include "screen.h"
#include "train_options.h"
#include "train_progress.h"
#include "train_report.h"
#include "tuning_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    train_request ask;
    train_progress progress;
    rf_dataset *train, *dev;
    rf_new_file file;
    char *json;
    int effort; /* index into efforts */
} job;

static const char *const efforts[] = {"quick", "thorough", NULL};

/* ---- Options: those of train, without what only a model needs ---------------------- */

static bool is_of_a_model(const char *name)
{
    static const char *const names[] = {
        "output",           "open-texts", "tune",        "max-false-accept",
        "max-false-reject", "slim",       "no-features", "keep-examples",
        "checkpoint",       "resume",     "map-points"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Settings of methods that tuning does not know. */
static bool is_of_another_method(const char *name)
{
    rf_method_options unused;
    option list[METHOD_SETTINGS];
    method_settings_list(&unused, list);
    for (size_t i = 0; i < METHOD_SETTINGS; i++)
        if (list[i].name && strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

static bool is_left_out(const option *o)
{
    return o->name && (is_of_a_model(o->name) || is_of_another_method(o->name));
}

static size_t list_options(job *j, option out[TRAIN_OPTIONS_MAX + 2])
{
    option all[TRAIN_OPTIONS_MAX];
    size_t n_all = train_options_list(&j->ask, all), n = 0;
    out[n++] = (option){.name = "output",
                        .letter = 'o',
                        .kind = OPTION_TEXT,
                        .value = &j->ask.output,
                        .arg = "FILE",
                        .help = "Write the settings to this file, for train --settings; "
                                "it appears complete or not at all."};
    out[n++] = (option){.name = "effort",
                        .kind = OPTION_CHOICE,
                        .value = &j->effort,
                        .arg = "E",
                        .choices = efforts,
                        .help = "quick: three folds, three candidates, about two to "
                                "three trainings; thorough: six folds, eight "
                                "candidates, about four to seven; more with "
                                "--train-layers 0 (default quick)."};
    for (size_t i = 0; i < n_all; i++) {
        bool empty = !all[i].name && i + 1 < n_all &&
                     is_left_out(&all[i + 1]); /* a heading of such options */
        if (!empty && !is_left_out(&all[i]))
            out[n++] = all[i];
    }
    return n;
}

static const char *wrong(const job *j)
{
    const train_request *r = &j->ask;
    if (!r->data_path)
        return "which data? Wanted a file, or - for standard input";
    if (!r->output)
        return "where to? Wanted -o FILE";
    if (strcmp(r->output, "-") == 0)
        return "settings cannot be written to standard output; wanted -o FILE";
    if (strcmp(r->data_path, "-") == 0 && r->dev_path && strcmp(r->dev_path, "-") == 0)
        return "DATA and --dev cannot both be standard input";
    return NULL;
}

/* ---- The work ---------------------------------------------------------------------- */

static rf_status take_data(job *j, const char *path, rf_dataset **data, size_t *n_odd,
                           rf_error *err)
{
    *data = data_options_read(&j->ask.data, path, err);
    if (!*data)
        return err->code;
    return train_report_data(&j->progress, path, *data, data == &j->dev ? j->train : NULL,
                             j->ask.strict, n_odd, err);
}

static rf_status prepare(job *j, rf_error *err)
{
    const char *inputs[] = {j->ask.data_path, j->ask.dev_path, j->ask.log_path,
                            j->ask.settings_path};
    size_t odd = 0, odd_dev = 0;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (command_same_file(j->ask.output, inputs[i]))
            return rf_fail(err, RF_ERR_ARG, 0,
                           "%s: the settings would overwrite this file; wanted another "
                           "name after -o",
                           j->ask.output);
    rf_status st = rf_new_file_open(&j->file, j->ask.output, err);
    rf_new_file_abandon(&j->file); /* it could be made: it will be, when there is one */
    if (st == RF_OK)
        st = train_progress_open(&j->progress, j->ask.quiet, j->ask.log_path, false, err);
    if (st == RF_OK)
        st = take_data(j, j->ask.data_path, &j->train, &odd, err);
    if (st == RF_OK && j->ask.dev_path)
        st = take_data(j, j->ask.dev_path, &j->dev, &odd_dev, err);
    if (st == RF_OK && j->ask.strict && odd + odd_dev > 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "nothing was tuned, as --strict wants data without the above");
    return st;
}

static rf_status write_settings(job *j, rf_error *err)
{
    rf_status st = rf_new_file_open(&j->file, j->ask.output, err);
    if (st == RF_OK)
        st = rf_new_file_add(&j->file, j->json, strlen(j->json), err);
    if (st == RF_OK)
        st = rf_new_file_add(&j->file, "\n", 1, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&j->file, err);
    rf_new_file_abandon(&j->file);
    return st;
}

static rf_status show(const job *j, rf_error *err)
{
    json_t *root = rf_json_object(j->json, strlen(j->json), "the settings", err);
    if (!root)
        return err->code;
    screen_progress_end();
    tuning_text_put(stderr, json_object_get(root, "tuning"));
    json_decref(root);
    return RF_OK;
}

static rf_status tune(job *j, rf_error *err)
{
    rf_status st = prepare(j, err);
    if (st != RF_OK)
        return st;
    rf_train_options *o = &j->ask.o;
    o->seed = j->ask.seed;
    o->tune = j->effort == 0 ? RF_TUNE_QUICK : RF_TUNE_THOROUGH;
    o->progress = train_progress_tell;
    o->user = &j->progress;
    train_progress_take_signals();
    st = rf_tune_settings(j->train, j->dev, o, &j->json, err);
    if (st == RF_OK && !j->ask.quiet)
        st = show(j, err);
    return st == RF_OK ? write_settings(j, err) : st;
}

static int run(const command *self, int argc, char **argv)
{
    job j = {0};
    option options[TRAIN_OPTIONS_MAX + 2];
    size_t n, n_options = list_options(&j, options);
    switch (
        options_parse(self, options, n_options, argc, argv, &j.ask.data_path, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *complaint = wrong(&j);
    if (complaint) {
        screen_complain("%s: %s", self->name, complaint);
        return EXIT_USAGE;
    }
    rf_error err = {0}, log_err = {0};
    if (j.ask.settings_path) { /* where the search begins */
        if (train_options_settings(&j.ask, &err) != RF_OK)
            return command_failed(&err);
        list_options(&j, options);
        options_parse(self, options, n_options, argc, argv, &j.ask.data_path, 1, &n);
    }
    rf_status st = tune(&j, &err);
    rf_status log_st = train_progress_close(&j.progress, &log_err);
    int code = 0;
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; nothing was written");
        code = 128 + train_progress_signal();
    } else if (st != RF_OK) {
        code = command_failed(&err);
    }
    if (log_st != RF_OK) {
        int log_code = command_failed(&log_err);
        code = code ? code : log_code;
    }
    free(j.json);
    rf_dataset_free(j.dev);
    rf_dataset_free(j.train);
    return code;
}

const command command_tune = {
    .name = "tune",
    .synopsis = "DATA -o FILE [OPTIONS]",
    .summary = "Choose settings for labelled texts, to train with later.",
    .details =
        "DATA is labelled texts as ringfence train takes them. Trainings that hide some\n"
        "of the classes show what would be done with texts of no class: each class is\n"
        "hidden in turn, with few candidates for the settings. The defaults are\n"
        "replaced only by what is better by more than half a point of F1 on average\n"
        "and in most of these trainings.\n\n"
        "The settings go to FILE as JSON, with all figures; ringfence train --settings\n"
        "FILE uses them. ringfence train --tune does both in one go. With fewer than\n"
        "three classes, or without dev texts, nothing can be hidden: the settings stay\n"
        "as they are, and the file says why.",
    .run = run,
};
