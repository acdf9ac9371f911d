/* cmd_train.c - from labelled texts to a model file */
#include "commands.h"

#include "base/file.h"
#include "json_text.h"
#include "screen.h"
#include "train_options.h"
#include "train_progress.h"
#include "train_report.h"

#include <stdio.h>
#include <sys/stat.h>

typedef struct job {
    train_request ask;
    train_progress progress;
    rf_dataset *train, *dev, *open;
    rf_model *model;
} job;

/* ---- Before training --------------------------------------------------------------- */

/* An hour of work is not to be lost for a wrong path: makes the temporary file that the
 * model will be written to, and removes it again. */
static rf_status check_output(const job *j, rf_error *err)
{
    const char *inputs[] = {j->ask.data_path, j->ask.dev_path, j->ask.log_path,
                            j->ask.open_path, j->ask.settings_path};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (command_same_file(j->ask.output, inputs[i]))
            return rf_fail(err, RF_ERR_ARG, 0,
                           "%s: the model would overwrite this file; wanted another "
                           "name after -o",
                           j->ask.output);
    rf_new_file file = {0};
    rf_status st = rf_new_file_open(&file, j->ask.output, err);
    rf_new_file_abandon(&file);
    return st;
}

/* Reads a set and tells what is in it. */
static rf_status take_data(job *j, const char *path, rf_dataset **data, size_t *n_odd,
                           rf_error *err)
{
    *data = data_options_read(&j->ask.data, path, err);
    if (!*data)
        return err->code;
    const rf_dataset *train = data == &j->dev ? j->train : NULL;
    return train_report_data(&j->progress, path, *data, train, j->ask.strict, n_odd, err);
}

static rf_status prepare(job *j, rf_error *err)
{
    size_t odd = 0, odd_dev = 0;
    rf_status st = check_output(j, err);
    if (st == RF_OK)
        st = train_progress_open(&j->progress, j->ask.quiet, j->ask.log_path,
                                 j->ask.o.resume, err);
    if (st == RF_OK)
        st = take_data(j, j->ask.data_path, &j->train, &odd, err);
    if (st == RF_OK && j->ask.dev_path)
        st = take_data(j, j->ask.dev_path, &j->dev, &odd_dev, err);
    if (st == RF_OK && j->ask.open_path) {
        j->open = rf_dataset_read_texts(j->ask.open_path, err);
        st = j->open ? RF_OK : err->code;
        j->ask.o.open_texts = j->open;
    }
    if (st == RF_OK && j->ask.strict && odd + odd_dev > 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "nothing was trained, as --strict wants data without the above");
    return st;
}

/* ---- After it ---------------------------------------------------------------------- */

static rf_status write_model(job *j, rf_error *err)
{
    char time[SCREEN_TIME];
    struct stat s;
    rf_status st = rf_model_save(j->model, j->ask.output, &j->ask.save, err);
    if (st == RF_OK && stat(j->ask.output, &s) != 0)
        st = rf_fail_errno(err, "%s: cannot stat", j->ask.output);
    if (st != RF_OK)
        return st;
    double seconds = j->progress.last.seconds;
    if (!j->ask.quiet)
        fprintf(stderr, "%s: %.1f MB, trained in %s\n", j->ask.output,
                (double)s.st_size / 1e6, screen_time(time, seconds));
    if (train_progress_begin(&j->progress, "written")) {
        fputs(", \"file\": ", j->progress.log);
        json_put_name(j->progress.log, j->ask.output);
        fprintf(j->progress.log, ", \"bytes\": %lld, \"seconds\": %.3f",
                (long long)s.st_size, seconds);
        train_progress_end(&j->progress);
    }
    return RF_OK;
}

/* What is left of a training that was stopped. */
static void tell_stopped(const job *j)
{
    const rf_train_event *e = &j->progress.last;
    const char *dir = j->ask.o.checkpoint;
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
    else if (j->ask.o.resume)
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
    rf_status st = prepare(j, err);
    if (st != RF_OK)
        return st;
    rf_train_options *o = &j->ask.o;
    o->seed = j->ask.seed;
    o->tune = (rf_tune_effort)j->ask.tune;
    o->progress = train_progress_tell;
    o->user = &j->progress;
    train_progress_take_signals();
    j->model = rf_train(j->train, j->dev, o, err);
    if (!j->model)
        return err->code;
    st = train_report_model(&j->progress, j->model, j->train, j->dev, err);
    return st == RF_OK ? write_model(j, err) : st;
}

static int run(const command *self, int argc, char **argv)
{
    job j = {0};
    option options[TRAIN_OPTIONS_MAX];
    size_t n, n_options = train_options_list(&j.ask, options);
    switch (
        options_parse(self, options, n_options, argc, argv, &j.ask.data_path, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = train_options_wrong(&j.ask);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    rf_error err = {0}, log_err = {0};
    if (j.ask.settings_path) {
        if (train_options_settings(&j.ask, &err) != RF_OK)
            return command_failed(&err);
        train_options_list(&j.ask, options);
        options_parse(self, options, n_options, argc, argv, &j.ask.data_path, 1, &n);
    }
    rf_status st = train(&j, &err);
    rf_status log_st = train_progress_close(&j.progress, &log_err);
    int code = 0;
    if (st == RF_ERR_STOPPED) {
        tell_stopped(&j);
        code = 128 + train_progress_signal();
    } else if (st != RF_OK) {
        code = command_failed(&err);
    }
    if (log_st != RF_OK) {
        int log_code = command_failed(&log_err);
        code = code ? code : log_code;
    }
    rf_model_free(j.model);
    rf_dataset_free(j.open);
    rf_dataset_free(j.dev);
    rf_dataset_free(j.train);
    return code;
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
        "stops cleanly (exit status 130, or 143 after SIGTERM); with --checkpoint the\n"
        "same command and --resume go on later and give the same model. DIR is not\n"
        "needed any more once the model is written.",
    .run = run,
};
