/* train_input.c - checks the paths and reads the data of ringfence train and tune */
#include "train_input.h"

#include "base/plural.h"
#include "commands.h"
#include "open_labels.h"
#include "screen.h"
#include "train_report.h"

/* ---- Paths ------------------------------------------------------------------------- */

static rf_status check_paths(const train_request *r, const char *what, rf_error *err)
{
    const char *inputs[] = {r->dev_path, r->open_path, r->settings_path};
    const struct {
        const char *path, *what, *option;
    } outputs[] = {{r->output, what, "-o"}, {r->log_path, "the log", "--log-json"}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
            if (command_would_overwrite(outputs[i].path, inputs[k]) ||
                data_would_be_overwritten(outputs[i].path, r->data_paths, r->n_data))
                return rf_fail(err, RF_ERR_ARG, 0,
                               "%s: %s would overwrite this file; wanted another name "
                               "after %s",
                               outputs[i].path, outputs[i].what, outputs[i].option);
    if (command_would_overwrite(r->output, r->log_path) ||
        command_would_overwrite(r->output, r->o.checkpoint))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%s: -o names the same file as --log-json or --checkpoint; wanted "
                       "another name",
                       r->output);
    return command_can_write(r->output, err);
}

/* ---- Data -------------------------------------------------------------------------- */

/* Reads a data set and reports its size and what is suspicious about it. */
static rf_status read_set(train_input *t, const char *const *paths, size_t n,
                          rf_dataset **data, size_t *n_odd, rf_error *err)
{
    char name[DATA_NAME];
    data_name(name, paths, n);
    *data = data_options_read(&t->ask.data, paths, n, err);
    if (!*data)
        return err->code;
    rf_status st = data == &t->train
                       ? open_labels_move(data, &t->open, &t->ask.open_labels, name, err)
                       : RF_OK;
    if (st != RF_OK)
        return st;
    const rf_dataset *train = data == &t->dev ? t->train : NULL;
    return train_report_data(&t->progress, name, *data, train, t->ask.strict, n_odd, err);
}

static rf_status read_data(train_input *t, rf_error *err)
{
    const train_request *r = &t->ask;
    size_t odd = 0, odd_dev = 0;
    rf_status st = RF_OK;
    if (r->open_path) {
        t->open = data_options_read_texts(&r->data, r->open_path, err);
        st = t->open ? RF_OK : err->code;
    }
    if (st == RF_OK)
        st = read_set(t, r->data_paths, r->n_data, &t->train, &odd, err);
    if (st == RF_OK && t->open && !r->quiet) {
        size_t n = rf_dataset_rows(t->open);
        fprintf(stderr, "%zu %s\n", n, rf_plural(n, "open text", "open texts"));
    }
    if (st == RF_OK && data_would_be_overwritten(r->dev_path, r->data_paths, r->n_data))
        screen_complain(
            "warning: %s: training and dev texts are the same, so the dev figures say "
            "nothing about new texts",
            r->dev_path);
    if (st == RF_OK && r->dev_path)
        st = read_set(t, &r->dev_path, 1, &t->dev, &odd_dev, err);
    if (st == RF_OK && r->strict && odd + odd_dev > 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "nothing was trained: --strict refuses data with these errors");
    return st;
}

rf_status train_input_read(train_input *t, const char *what, rf_error *err)
{
    rf_status st = check_paths(&t->ask, what, err);
    if (st == RF_OK)
        st = train_options_finish(&t->ask, err);
    if (st == RF_OK)
        st = train_progress_open(&t->progress, t->ask.quiet, t->ask.log_path,
                                 t->ask.o.resume, err);
    if (st == RF_OK)
        st = read_data(t, err);
    t->ask.o.open_texts = t->open;
    t->ask.o.progress = train_progress_report;
    t->ask.o.user = &t->progress;
    return st;
}

int train_input_end(train_input *t, rf_status st, const rf_error *err)
{
    rf_error log_err = {0};
    int code = st == RF_OK            ? 0
               : st == RF_ERR_STOPPED ? 128 + train_progress_signal()
                                      : command_failed(err);
    if (train_progress_close(&t->progress, &log_err) != RF_OK) {
        int log_code = command_failed(&log_err);
        code = code ? code : log_code;
    }
    rf_dataset_free(t->open);
    rf_dataset_free(t->dev);
    rf_dataset_free(t->train);
    return code;
}
