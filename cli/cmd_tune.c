/* cmd_tune.c - settings for labelled texts, chosen by hiding some of their classes */
#include "commands.h"

#include "base/file.h"
#include "base/json.h"
#include "screen.h"
#include "train_input.h"
#include "tuning_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    train_input in;
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
    size_t n_all = train_options_list(&j->in.ask, all), n = 0;
    out[n++] = (option){.name = "output",
                        .letter = 'o',
                        .kind = OPTION_TEXT,
                        .value = &j->in.ask.output,
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
    const train_request *r = &j->in.ask;
    if (!r->data_path)
        return "which data? Wanted a file, or - for standard input";
    if (!r->output)
        return "where to? Wanted -o FILE";
    if (strcmp(r->output, "-") == 0)
        return "settings cannot be written to standard output; wanted -o FILE";
    if (strcmp(r->data_path, "-") == 0 && r->dev_path && strcmp(r->dev_path, "-") == 0)
        return "only one of DATA and --dev can be standard input";
    return NULL;
}

/* ---- The work ---------------------------------------------------------------------- */

static rf_status write_settings(const job *j, rf_error *err)
{
    rf_new_file file = {0};
    rf_status st = rf_new_file_open(&file, j->in.ask.output, err);
    if (st == RF_OK)
        st = rf_new_file_add(&file, j->json, strlen(j->json), err);
    if (st == RF_OK)
        st = rf_new_file_add(&file, "\n", 1, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&file, err);
    rf_new_file_abandon(&file);
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
    train_input *in = &j->in;
    rf_status st = train_input_read(in, "the settings", err);
    if (st != RF_OK)
        return st;
    in->ask.o.tune = j->effort == 0 ? RF_TUNE_QUICK : RF_TUNE_THOROUGH;
    train_progress_take_signals();
    st = rf_tune_settings(in->train, in->dev, &in->ask.o, &j->json, err);
    if (st == RF_OK && !in->ask.quiet)
        st = show(j, err);
    return st == RF_OK ? write_settings(j, err) : st;
}

static int run(const command *self, int argc, char **argv)
{
    job j = {0};
    train_request *ask = &j.in.ask;
    option options[TRAIN_OPTIONS_MAX + 2];
    size_t n, n_options = list_options(&j, options);
    switch (options_parse(self, options, n_options, argc, argv, &ask->data_path, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *complaint = wrong(&j);
    if (complaint) {
        screen_complain("%s: %s", self->name, complaint);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    if (ask->settings_path) { /* where the search begins */
        if (train_options_settings(ask, &err) != RF_OK)
            return command_failed(&err);
        list_options(&j, options);
        options_parse(self, options, n_options, argc, argv, &ask->data_path, 1, &n);
    }
    rf_status st = tune(&j, &err);
    if (st == RF_ERR_STOPPED)
        screen_complain("stopped; nothing was written");
    free(j.json);
    return train_input_end(&j.in, st, &err);
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
