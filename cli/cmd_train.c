/* cmd_train.c - ringfence train: trains a model on labelled texts and writes it */
#include "commands.h"

#include "base/plural.h"
#include "json_text.h"
#include "screen.h"
#include "train_input.h"
#include "train_report.h"

#include <stdio.h>
#include <sys/stat.h>

typedef struct train_job {
    train_input in;
    rf_model *model;
} train_job;

/* Saves the model and reports its size and the time it took. */
static rf_status write_model(train_job *j, rf_error *err)
{
    const train_request *ask = &j->in.ask;
    train_progress *progress = &j->in.progress;
    char time[SCREEN_TIME];
    struct stat s;
    rf_status st = rf_model_save(j->model, ask->output, &ask->save, err);
    if (st == RF_OK && stat(ask->output, &s) != 0)
        st = rf_fail_errno(err, "%s: cannot stat", ask->output);
    if (st != RF_OK)
        return st;
    double seconds = progress->last.seconds;
    if (!ask->quiet)
        fprintf(stderr, "%s: %.1f MB, trained in %s\n", ask->output,
                (double)s.st_size / 1e6, screen_time(time, seconds));
    if (train_progress_begin(progress, "written")) {
        fputs(", \"file\": ", progress->log);
        json_put_name(progress->log, ask->output);
        fprintf(progress->log, ", \"bytes\": %lld, \"seconds\": %.3f",
                (long long)s.st_size, seconds);
        train_progress_end(progress);
    }
    return RF_OK;
}

/* Says what a stopped training leaves behind and how to resume it. */
static void report_stopped(const train_job *j)
{
    const rf_train_event *e = &j->in.progress.last;
    const char *dir = j->in.ask.o.checkpoint;
    size_t epochs = e->total ? e->done * e->epochs / e->total : 0;
    if (!dir)
        screen_complain("stopped; nothing was saved (--checkpoint DIR would have saved "
                        "finished work)");
    else if (e->stage == RF_STAGE_KNOWN && epochs > 0)
        screen_complain("stopped; %s holds %zu of %zu %s: the same command with "
                        "--resume continues from there",
                        dir, epochs, e->epochs, rf_plural(e->epochs, "epoch", "epochs"));
    else if (e->stage == RF_STAGE_OPEN)
        screen_complain("stopped; %s holds stage 1 and %zu of %zu %s: the same command "
                        "with --resume continues from there",
                        dir, e->done, e->total, rf_plural(e->total, "head", "heads"));
    else if (e->stage == RF_STAGE_MAP)
        screen_complain("stopped before the map was drawn; the same command with "
                        "--resume continues from %s",
                        dir);
    else if (e->stage == RF_STAGE_FEATURES)
        screen_complain("stopped; %s holds stage 1: the same command with --resume "
                        "continues from there",
                        dir);
    else if (j->in.ask.o.resume)
        screen_complain("stopped; %s is unchanged: the same command continues from there",
                        dir);
    else
        screen_complain("stopped before the first epoch was finished; %s holds nothing "
                        "to resume from",
                        dir);
}

static rf_status train(train_job *j, rf_error *err)
{
    train_input *in = &j->in;
    rf_status st = train_input_read(in, "the model", err);
    if (st != RF_OK)
        return st;
    train_progress_catch_signals();
    j->model = rf_train(in->train, in->dev, &in->ask.o, err);
    if (!j->model)
        return err->code;
    st = train_report_model(&in->progress, j->model, in->train, in->dev, err);
    return st == RF_OK ? write_model(j, err) : st;
}

static int run_train(const command *self, int argc, char **argv)
{
    train_job j = {0};
    train_request *ask = &j.in.ask;
    option options[TRAIN_OPTIONS_MAX];
    size_t n_options = train_options_list(ask, NULL, options);
    switch (options_parse(self, options, n_options, argc, argv, ask->data_paths,
                          DATA_FILES, &ask->n_data)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = train_options_wrong(ask);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st = train(&j, &err);
    if (st == RF_ERR_STOPPED)
        report_stopped(&j);
    rf_model_free(j.model);
    return train_input_end(&j.in, st, &err);
}

const command command_train = {
    .name = "train",
    .synopsis = "DATA... -o MODEL [OPTIONS]",
    .summary = "Learn from labelled texts and write a model.",
    .details =
        "DATA is a file of texts and their labels, or - for standard input: TSV, CSV or\n"
        "JSON Lines, also in gzip or zstd. Every label is a class; there must be none\n"
        "called \"open\", which is the answer for texts of no class.\n\n"
        "Stage 1 fine-tunes the upper layers of the encoder and a classifier of the "
        "known\n"
        "classes. Stage 2 describes every class by its texts, and trains a head for\n"
        "each class of more than 50 that separates its texts from all others, against\n"
        "synthetic negatives around the class. A text outside every fence is open.\n"
        "--method selects another stage 2, and for some methods another stage 1, for\n"
        "comparison.\n\n"
        "Before that, short trainings that hide classes and hold out rows place the\n"
        "fence and tell what to expect of new texts.\n\n"
        "--tune chooses settings with such trainings too. --max-false-accept and\n"
        "--max-false-reject state an error budget, for texts like the training texts:\n"
        "the fences are placed where those trainings show that it is kept. A budget "
        "that\n"
        "the data cannot support is refused.\n\n"
        "The same data, options and seed give the same model to the last bit. Ctrl-C\n"
        "stops cleanly (exit status 130; 143 after SIGTERM, 129 after SIGHUP). With\n"
        "--checkpoint DIR, the same command with --resume continues later and gives the\n"
        "same model. DIR can be deleted once the model is written.",
    .run = run_train,
};
