/* cmd_train.c - from labelled texts to a model file */
#include "commands.h"

#include "json_text.h"
#include "screen.h"
#include "train_input.h"
#include "train_report.h"

#include <stdio.h>
#include <sys/stat.h>

typedef struct job {
    train_input in;
    rf_model *model;
} job;

static rf_status write_model(job *j, rf_error *err)
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

/* What is left of a training that was stopped. */
static void tell_stopped(const job *j)
{
    const rf_train_event *e = &j->in.progress.last;
    const char *dir = j->in.ask.o.checkpoint;
    size_t epochs = e->total ? e->done * e->epochs / e->total : 0;
    if (!dir)
        screen_complain("stopped; nothing was kept (--checkpoint DIR would have kept "
                        "what was finished)");
    else if (e->stage == RF_STAGE_KNOWN && epochs > 0)
        screen_complain("stopped; %s holds %zu of %zu epochs: the same command with "
                        "--resume goes on from there",
                        dir, epochs, e->epochs);
    else if (e->stage == RF_STAGE_OPEN)
        screen_complain("stopped; %s holds the known classes and %zu of %zu heads: the "
                        "same command with --resume goes on from there",
                        dir, e->done, e->total);
    else if (e->stage == RF_STAGE_MAP)
        screen_complain(
            "stopped before the map was drawn; the same command with --resume "
            "goes on from what %s holds",
            dir);
    else if (e->stage == RF_STAGE_FEATURES)
        screen_complain("stopped; %s holds the known classes: the same command with "
                        "--resume goes on from there",
                        dir);
    else if (j->in.ask.o.resume)
        screen_complain("stopped; %s holds what it held before: the same command goes "
                        "on from there",
                        dir);
    else
        screen_complain("stopped; no epoch was finished, so there is nothing to go on "
                        "from in %s",
                        dir);
}

static rf_status train(job *j, rf_error *err)
{
    train_input *in = &j->in;
    rf_status st = train_input_read(in, "the model", err);
    if (st != RF_OK)
        return st;
    in->ask.o.tune = (rf_tune_effort)in->ask.tune;
    train_progress_take_signals();
    j->model = rf_train(in->train, in->dev, &in->ask.o, err);
    if (!j->model)
        return err->code;
    st = train_report_model(&in->progress, j->model, in->train, in->dev, err);
    return st == RF_OK ? write_model(j, err) : st;
}

static int run(const command *self, int argc, char **argv)
{
    job j = {0};
    train_request *ask = &j.in.ask;
    option options[TRAIN_OPTIONS_MAX];
    size_t n, n_options = train_options_list(ask, options);
    switch (options_parse(self, options, n_options, argc, argv, &ask->data_path, 1, &n)) {
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
    if (ask->settings_path) {
        if (train_options_settings(ask, &err) != RF_OK)
            return command_failed(&err);
        train_options_list(ask, options);
        options_parse(self, options, n_options, argc, argv, &ask->data_path, 1, &n);
    }
    rf_status st = train(&j, &err);
    if (st == RF_ERR_STOPPED)
        tell_stopped(&j);
    rf_model_free(j.model);
    return train_input_end(&j.in, st, &err);
}

const command command_train = {
    .name = "train",
    .synopsis = "DATA -o MODEL [OPTIONS]",
    .summary = "Learn from labelled texts and write a model.",
    .details =
        "DATA is a file of texts and their labels, or - for standard input: TSV, CSV or\n"
        "JSON Lines, also in gzip or zstd. Every label is a class; there must be none\n"
        "called \"open\", which is the answer for texts of no class and is not learnt\n"
        "from examples.\n\n"
        "Stage 1 tunes the upper layers of the encoder and a classifier of the known\n"
        "classes. Stage 2 trains one head per class that tells its texts from all\n"
        "others, against synthetic texts around the class. A text that every head\n"
        "rejects is open. --method takes another way for stage 2, and with some methods\n"
        "another stage 1; they are there to be compared with.\n\n"
        "--tune chooses settings by trainings that hide some of the classes: their "
        "texts\n"
        "are then texts of no class. --max-false-accept and --max-false-reject state an\n"
        "error budget and put the fences where those trainings, or the dev texts, show\n"
        "that it is kept; what the data cannot show is refused.\n\n"
        "The same data, options and seed give the same model to the last bit. Ctrl-C\n"
        "stops cleanly (exit status 130; 143 after SIGTERM, 129 after SIGHUP); with\n"
        "--checkpoint the same command and --resume go on later and give the same "
        "model.\n"
        "DIR is not needed any more once the model is written.",
    .run = run,
};
