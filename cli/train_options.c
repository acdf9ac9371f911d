/* train_options.c - the options of ringfence train and tune. The hyperparameters are not
 * listed here; they come from the library's table of settings
 */
#include "train_options.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SETTINGS ((size_t)1 << 20) /* bytes of a settings file */

/* The first fields of an option: name, where its value goes, argument or range. */
#define TEXT(n, to, a) .name = (n), .kind = OPTION_TEXT, .value = (to), .arg = (a)
#define FLAG(n, to) .name = (n), .kind = OPTION_FLAG, .value = (to)
#define SIZE(n, to, from, upto)                                                          \
    .name = (n), .kind = OPTION_SIZE, .value = (to), .arg = "N", .min = (from),          \
    .max = (upto)
#define SHARE(n, to)                                                                     \
    .name = (n), .kind = OPTION_SHARE, .value = (to), .arg = "P", .least = 1e-6,         \
    .most = 0.5
#define RARE .rare = true
#define SHOWN .shows_number = true /* the default, which *value holds */

static const char *const efforts[] = {"off", "quick", "thorough", NULL};

static size_t list_general(train_request *r, option *out)
{
    rf_train_options *o = &r->o;
    char names[METHOD_NAMES];
    method_names(names);
    snprintf(r->method_help, sizeof r->method_help,
             "How open texts are recognised (default ans): %s.", names);
    const option list[] = {
        {TEXT("output", &r->output, "MODEL"), .letter = 'o',
         .help = "Write the model to this file; it appears complete or not at all."},
        {TEXT("dev", &r->dev_path, "FILE"),
         .help = "Labelled texts that decide when to stop and help to place the fence "
                 "(default: none, see --dev-share)."},
        {.name = "dev-share",
         .kind = OPTION_REAL,
         .value = &r->dev_share,
         .arg = "X",
         .most = 0.5,
         RARE,
         .help = "Share of each class to hold out if no dev set is given; 0: none "
                 "(default: none if folds place the fence, else 0.1)."},
        {FLAG("strict", &r->strict), RARE,
         .help = "Refuse suspicious data: one text under two labels, classes of fewer "
                 "than 5 rows, dropped rows, empty texts."},
        {TEXT("encoder", &o->encoder, "E"),
         .help = "The encoder: catalogue name, directory, or OWNER/NAME of the Hugging "
                 "Face hub, once fetched (default minilm)."},
        {TEXT("method", &o->method, "M"), .help = r->method_help},
        {TEXT("open-texts", &r->open_path, "FILE"), RARE,
         .help =
             "Examples of open texts, if there are any: one per line, or a data file, "
             "whose labels are ignored. With ans they help to place the fence and "
             "are negatives for the heads; selfsup needs them."},
        {.name = "open-label",
         .kind = OPTION_TEXTS,
         .value = &r->open_labels,
         .arg = "NAME",
         .help = "Rows of DATA with this label are examples of open texts, not a class. "
                 "Can be repeated."},
        {SIZE("max-tokens", &o->max_tokens, 3, RF_MAX_POSITIONS), RARE,
         .help = "Truncate texts at N tokens (default: the encoder's maximum, at most "
                 "512)."},
        {SIZE("seed", &r->seed, 0, INT64_MAX), SHOWN,
         .help = "Seed of everything random"},
        {SIZE("threads", &o->threads, 1, RF_MAX_THREADS),
         .help = "Threads (default: all CPUs). The model is the same for any number."},
        {SIZE("cache-mb", &r->cache_mb, 0, 1 << 30), SHOWN, RARE,
         .help = "Megabytes of memory for the output of the frozen layers; more than "
                 "that goes to a file in $TMPDIR"},
        {TEXT("settings", &r->settings_path, "FILE"),
         .help = "Settings written by ringfence tune; options override them."},
        {.name = "tune",
         .kind = OPTION_CHOICE,
         .value = &r->tune,
         .arg = "E",
         .choices = efforts,
         .help = "Choose settings on the data first: quick (the time of two to three "
                 "more trainings; longer with --train-layers 0), thorough, off (default "
                 "off)."},
        {SHARE("max-false-accept", &o->max_false_accept),
         .help = "Accept at most this share of open texts, 1% or 0.01; overrides "
                 "--fence-reject and --fence-offset (default: no budget)."},
        {SHARE("max-false-reject", &o->max_false_reject),
         .help = "Call at most this share of known texts open; overrides "
                 "--fence-reject and --fence-offset (default: no budget)."},
        {FLAG("quiet", &r->quiet), .help = "Show errors only."},
        {TEXT("log-json", &r->log_path, "FILE"), RARE,
         .help = "Log to FILE, one JSON object per line."},
    };
    memcpy(out, list, sizeof list);
    return sizeof list / sizeof *list;
}

static size_t list_saving(train_request *r, option *out)
{
    const option list[] = {
        {.help = "what is saved"},
        {TEXT("checkpoint", &r->o.checkpoint, "DIR"),
         .help = "Save finished work in DIR, to resume after an interruption."},
        {FLAG("resume", &r->o.resume),
         .help = "Continue from the checkpoint in DIR if there is one. The model is the "
                 "same as without the interruption."},
        {FLAG("slim", &r->save.slim), RARE,
         .help = "Leave the encoder out of the model; it must be in the cache where the "
                 "model is used."},
        {FLAG("no-features", &r->save.no_features), RARE,
         .help = "Leave the features of the training texts out of the model, and the map "
                 "with them."},
        {FLAG("no-examples", &r->no_examples),
         .help = "Leave the training texts out of the model; predict --explain shows "
                 "them."},
        {FLAG("keep-examples", &r->keep_examples), RARE,
         .help = "Keep the training texts in the model, which is the default."},
        {SIZE("map-points", &r->map_points, 0, 100000), SHOWN, RARE,
         .help = "Draw a map of the training texts with up to N points; larger sets are "
                 "sampled evenly over the classes; 0: no map"},
    };
    memcpy(out, list, sizeof list);
    return sizeof list / sizeof *list;
}

size_t train_options_list(train_request *r, const char *method,
                          option out[TRAIN_OPTIONS_MAX])
{
    r->o = rf_train_options_default();
    r->save = rf_save_options_default();
    r->dev_share = -1.0; /* automatic */
    r->cache_mb = (size_t)r->o.cache_mb;
    r->map_points = (size_t)r->o.map_points;
    size_t n = list_general(r, out);
    data_options_list(&r->data, out + n);
    for (size_t i = 0; i < DATA_OPTIONS; i++)
        out[n++].rare = true;
    n += list_saving(r, out + n);
    return n + settings_options_list(&r->given, method, out + n);
}

/* Reads a settings file into text of the form "rho=1.5 epochs=3 ". */
static rf_status read_settings(const char *path, char **text, rf_error *err)
{
    rf_buffer file;
    rf_buffer_init(&file, MAX_SETTINGS, path);
    rf_status st = rf_file_read(path, &file, err);
    if (st == RF_OK)
        st = rf_settings_from_json(file.data ? file.data : "", file.len, path, text, err);
    rf_buffer_release(&file);
    return st;
}

rf_status train_options_finish(train_request *r, rf_error *err)
{
    char *file = NULL;
    rf_status st = r->settings_path ? read_settings(r->settings_path, &file, err) : RF_OK;
    snprintf(r->settings, sizeof r->settings, "%s%s", file ? file : "", r->given.text);
    free(file);
    r->o.settings = r->settings;
    r->o.seed = r->seed;
    r->o.tune = (rf_tune_effort)r->tune;
    r->o.dev_share = r->dev_share < 0.0 ? 0.0 : r->dev_share > 0.0 ? r->dev_share : -1.0;
    r->o.cache_mb = r->cache_mb > 0 ? (int64_t)r->cache_mb : -1;
    r->save.keep_examples = !r->no_examples;
    r->o.map_points = r->map_points > 0 ? (int64_t)r->map_points : -1;
    return st;
}

static bool is_stdin(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

size_t train_options_stdins(const train_request *r)
{
    size_t n = (size_t)is_stdin(r->dev_path) + (size_t)is_stdin(r->open_path);
    for (size_t i = 0; i < r->n_data; i++)
        n += (size_t)is_stdin(r->data_paths[i]);
    return n;
}

const char *train_options_wrong(const train_request *r)
{
    if (r->n_data == 0)
        return "which data? Wanted DATA: a file, or - for standard input";
    if (!r->output)
        return "no output file; wanted -o MODEL";
    if (is_stdin(r->output))
        return "a model cannot be written to standard output; wanted -o MODEL";
    if (train_options_stdins(r) > 1)
        return "only one of DATA, --dev and --open-texts can be standard input";
    if (r->o.resume && !r->o.checkpoint)
        return "--resume needs --checkpoint DIR";
    if (r->save.no_features && r->keep_examples)
        return "--keep-examples needs the features that --no-features leaves out";
    if (r->no_examples && r->keep_examples)
        return "--no-examples and --keep-examples contradict each other";
    return NULL;
}
