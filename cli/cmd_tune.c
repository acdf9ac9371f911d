/* cmd_tune.c - ringfence tune: chooses settings for labelled texts by hiding some of
 * their classes, and writes them for ringfence train
 */
#include "commands.h"

#include "base/file.h"
#include "base/json.h"
#include "screen.h"
#include "train_input.h"
#include "tuning_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct tune_job {
    train_input in;
    char *json; /* the settings file */
    int effort; /* index into efforts */
} tune_job;

static const char *const efforts[] = {"quick", "thorough", NULL};

/* ---- Options: those of train, except the ones about the model ---------------------- */

static bool is_about_model(const char *name)
{
    static const char *const names[] = {
        "output",           "open-texts", "tune",        "max-false-accept",
        "max-false-reject", "slim",       "no-features", "no-examples",
        "keep-examples",    "checkpoint", "resume",      "map-points"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static size_t list_options(tune_job *j, option out[TRAIN_OPTIONS_MAX + 2])
{
    option all[TRAIN_OPTIONS_MAX];
    size_t n_all = train_options_list(&j->in.ask, "ans", all), n = 0;
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
                        .help = "quick: three folds, three candidates, the time of two "
                                "to three trainings; thorough: six folds, eight "
                                "candidates, four to seven; more with "
                                "--train-layers 0 (default quick)."};
    for (size_t i = 0; i < n_all; i++)
        if (!all[i].name || !is_about_model(all[i].name))
            out[n++] = all[i];
    return n;
}

/* What is wrong with the options taken together, NULL if nothing is. */
static const char *wrong_options(const tune_job *j)
{
    const train_request *r = &j->in.ask;
    if (r->n_data == 0)
        return "which data? Wanted DATA: a file, or - for standard input";
    if (!r->output)
        return "no output file; wanted -o FILE";
    if (strcmp(r->output, "-") == 0)
        return "settings cannot be written to standard output; wanted -o FILE";
    if (train_options_stdins(r) > 1)
        return "only one of DATA and --dev can be standard input";
    return NULL;
}

/* ---- The work ---------------------------------------------------------------------- */

static rf_status write_settings(const tune_job *j, rf_error *err)
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

static rf_status show_tuning(const tune_job *j, rf_error *err)
{
    json_t *root = rf_json_object(j->json, strlen(j->json), "the settings", err);
    if (!root)
        return err->code;
    screen_progress_end();
    tuning_text_put(stderr, json_object_get(root, "tuning"));
    json_decref(root);
    return RF_OK;
}

static rf_status tune(tune_job *j, rf_error *err)
{
    train_input *in = &j->in;
    rf_status st = train_input_read(in, "the settings", err);
    if (st != RF_OK)
        return st;
    in->ask.o.tune = j->effort == 0 ? RF_TUNE_QUICK : RF_TUNE_THOROUGH;
    train_progress_catch_signals();
    st = rf_tune_settings(in->train, in->dev, &in->ask.o, &j->json, err);
    if (st == RF_OK && !in->ask.quiet)
        st = show_tuning(j, err);
    return st == RF_OK ? write_settings(j, err) : st;
}

static int run_tune(const command *self, int argc, char **argv)
{
    tune_job j = {0};
    train_request *ask = &j.in.ask;
    option options[TRAIN_OPTIONS_MAX + 2];
    size_t n_options = list_options(&j, options);
    switch (options_parse(self, options, n_options, argc, argv, ask->data_paths,
                          DATA_FILES, &ask->n_data)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = wrong_options(&j);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st = tune(&j, &err);
    if (st == RF_ERR_STOPPED)
        screen_complain("stopped; nothing was written");
    free(j.json);
    return train_input_end(&j.in, st, &err);
}

const command command_tune = {
    .name = "tune",
    .synopsis = "DATA... -o FILE [OPTIONS]",
    .summary = "Choose settings for labelled texts, to train with later.",
    .details =
        "DATA is labelled texts, as ringfence train reads them. Trainings that hide "
        "some\n"
        "of the classes show how each candidate treats texts of no class; every class "
        "is\n"
        "hidden in turn. A candidate replaces the defaults only if its F1 is better by\n"
        "more than half a point on average, and better in most of these trainings.\n\n"
        "The settings are written to FILE as JSON, with all figures, for ringfence "
        "train\n"
        "--settings FILE. ringfence train --tune does both in one go. With fewer than\n"
        "three classes, or without dev texts, nothing can be hidden: the settings stay\n"
        "as they are, and the file says why.",
    .run = run_tune,
};
