#include "train_options.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

#define BIG 1e6
#define MAX_SETTINGS ((size_t)1 << 20) /* bytes of such a file */

static const char *const efforts[] = {"off", "quick", "thorough", NULL};

/* The ranges are those of rf_train; the defaults are those of the library. */
size_t train_options_list(train_request *r, option out[TRAIN_OPTIONS_MAX])
{
    r->o = r->has_base ? r->base : rf_train_options_default();
    r->seed = (size_t)r->o.seed;
    rf_train_options *o = &r->o;
    char names[METHOD_NAMES];
    method_names(names);
    snprintf(r->method_help, sizeof r->method_help,
             "How texts of no class are told from the others (default ans): %s.", names);
    const option general[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &r->output,
         .arg = "MODEL",
         .help = "Write the model to this file; it appears complete or not at all."},
        {.name = "dev",
         .kind = OPTION_TEXT,
         .value = &r->dev_path,
         .arg = "FILE",
         .help = "Labelled texts that decide when to stop (default: some rows of DATA "
                 "are held out, see --dev-share)."},
        {.name = "dev-share",
         .kind = OPTION_REAL,
         .value = &o->dev_share,
         .arg = "X",
         .help = "Share of each class held out if no dev set is given; 0: none",
         .shows_number = true,
         .most = 0.5},
        {.name = "strict",
         .kind = OPTION_FLAG,
         .value = &r->strict,
         .help = "Do not train on odd data: one text under two labels, classes of fewer "
                 "than 5 rows, dropped rows, empty texts."},
        {.name = "encoder",
         .kind = OPTION_TEXT,
         .value = &o->encoder,
         .arg = "E",
         .help = "Catalogue name or directory of the encoder (default minilm)."},
        {.name = "method",
         .kind = OPTION_TEXT,
         .value = &o->method,
         .arg = "M",
         .help = r->method_help},
        {.name = "open-texts",
         .kind = OPTION_TEXT,
         .value = &r->open_path,
         .arg = "FILE",
         .help = "selfsup: texts of no class, one per line (or a data file, its labels "
                 "not counting)."},
        {.name = "max-tokens",
         .kind = OPTION_SIZE,
         .value = &o->max_tokens,
         .arg = "N",
         .help = "Tokens of a text that count (default: the encoder's maximum, at most "
                 "512).",
         .min = 3,
         .max = RF_MAX_POSITIONS},
        {.name = "seed",
         .kind = OPTION_SIZE,
         .value = &r->seed,
         .arg = "N",
         .help = "Another seed is another draw of everything random",
         .shows_number = true,
         .max = INT64_MAX},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &o->threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The model is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
        {.name = "cache-mb",
         .kind = OPTION_SIZE,
         .value = &o->cache_mb,
         .arg = "N",
         .help = "Memory for the output of the frozen layers; more than that goes to a "
                 "file in $TMPDIR",
         .shows_number = true,
         .max = 1 << 30},
        {.name = "settings",
         .kind = OPTION_TEXT,
         .value = &r->settings_path,
         .arg = "FILE",
         .help = "Settings that ringfence tune has written; options count more."},
        {.name = "tune",
         .kind = OPTION_CHOICE,
         .value = &r->tune,
         .arg = "E",
         .choices = efforts,
         .help = "Choose settings on the data first: quick (about two to three trainings "
                 "more; more than that with --train-layers 0), thorough, off (default "
                 "off)."},
        {.name = "max-false-accept",
         .kind = OPTION_SHARE,
         .value = &o->max_false_accept,
         .arg = "P",
         .help = "Let in at most this share of the texts of no class, 1% or 0.01; "
                 "--fence-reject and --fence-offset do not count then (default: no "
                 "budget).",
         .least = 1e-6,
         .most = 0.5},
        {.name = "max-false-reject",
         .kind = OPTION_SHARE,
         .value = &o->max_false_reject,
         .arg = "P",
         .help =
             "Call at most this share of the texts of known classes open; "
             "--fence-reject and --fence-offset do not count then (default: no budget).",
         .least = 1e-6,
         .most = 0.5},
        {.name = "quiet",
         .kind = OPTION_FLAG,
         .value = &r->quiet,
         .help = "Show errors only."},
        {.name = "log-json",
         .kind = OPTION_TEXT,
         .value = &r->log_path,
         .arg = "FILE",
         .help = "Write what happens to FILE, one JSON object per line."},
    };
    const option keeping[] = {
        {.help = "what is kept"},
        {.name = "checkpoint",
         .kind = OPTION_TEXT,
         .value = &o->checkpoint,
         .arg = "DIR",
         .help = "Keep what is finished in DIR, to go on from after an interruption."},
        {.name = "resume",
         .kind = OPTION_FLAG,
         .value = &o->resume,
         .help = "Go on from the checkpoint in DIR if there is one. The model is the "
                 "same as without the interruption."},
        {.name = "slim",
         .kind = OPTION_FLAG,
         .value = &r->save.slim,
         .help = "Leave the encoder out of the model; it must be in the cache where the "
                 "model is used."},
        {.name = "no-features",
         .kind = OPTION_FLAG,
         .value = &r->save.no_features,
         .help = "Leave the features of the training texts out of the model, and the map "
                 "with them."},
        {.name = "keep-examples",
         .kind = OPTION_FLAG,
         .value = &r->save.keep_examples,
         .help = "Keep the training texts in the model, for predict --explain."},
        {.name = "map-points",
         .kind = OPTION_SIZE,
         .value = &o->map_points,
         .arg = "N",
         .help = "Draw a map of the training texts with up to N points; of more texts a "
                 "sample that is fair to the classes; 0: no map",
         .shows_number = true,
         .max = 100000},
    };
    const option known[] = {
        {.help = "stage 1, the known classes"},
        {.name = "train-layers",
         .kind = OPTION_SIZE,
         .value = &o->train_layers,
         .arg = "N",
         .help = "Upper layers of the encoder to tune; 0: none",
         .shows_number = true,
         .max = 256},
        {.name = "epochs",
         .kind = OPTION_SIZE,
         .value = &o->epochs,
         .arg = "N",
         .help = "Passes over the data at most (default: chosen from its size).",
         .min = 1,
         .max = (size_t)BIG},
        {.name = "batch",
         .kind = OPTION_SIZE,
         .value = &o->batch,
         .arg = "N",
         .help = "Texts per step (default 128).",
         .min = 1,
         .max = 65536},
        {.name = "patience",
         .kind = OPTION_SIZE,
         .value = &o->patience,
         .arg = "N",
         .help = "Stop after N epochs without a better dev accuracy (default: chosen "
                 "from the epochs).",
         .min = 1,
         .max = (size_t)BIG},
        {.name = "encoder-rate",
         .kind = OPTION_FLOAT,
         .value = &o->encoder_rate,
         .arg = "X",
         .help = "Learning rate of the encoder's layers",
         .shows_number = true,
         .most = 1},
        {.name = "known-rate",
         .kind = OPTION_FLOAT,
         .value = &o->known_rate,
         .arg = "X",
         .help = "Learning rate of the classifier",
         .shows_number = true,
         .most = 1},
        {.name = "dropout",
         .kind = OPTION_FLOAT,
         .value = &o->dropout,
         .arg = "X",
         .help = "Dropout of stage 1",
         .shows_number = true,
         .most = 0.9},
        {.name = "blend",
         .kind = OPTION_FLOAT,
         .value = &o->blend,
         .arg = "X",
         .help = "Share of what the tuned layers learnt that the features keep; 1: all",
         .shows_number = true,
         .most = 1.0},
    };
    const option open[] = {
        {.help = "stage 2, a head per class that accepts or rejects"},
        {.name = "head-steps",
         .kind = OPTION_SIZE,
         .value = &o->head_steps,
         .arg = "N",
         .help = "Steps per head (default 600).",
         .min = 1,
         .max = 1000000000},
        {.name = "positives",
         .kind = OPTION_SIZE,
         .value = &o->head_positives,
         .arg = "N",
         .help = "Texts of the class per step",
         .shows_number = true,
         .min = 1,
         .max = 4096},
        {.name = "negatives",
         .kind = OPTION_SIZE,
         .value = &o->head_negatives,
         .arg = "N",
         .help = "Texts of other classes per step",
         .shows_number = true,
         .min = 1,
         .max = 65536},
        {.name = "head-rate",
         .kind = OPTION_FLOAT,
         .value = &o->head_rate,
         .arg = "X",
         .help = "Learning rate of the heads",
         .shows_number = true,
         .least = 1e-9,
         .most = 1},
        {.name = "head-dropout",
         .kind = OPTION_FLOAT,
         .value = &o->head_dropout,
         .arg = "X",
         .help = "Dropout of the heads",
         .shows_number = true,
         .most = 0.9},
        {.name = "negative-weight",
         .kind = OPTION_FLOAT,
         .value = &o->negative_weight,
         .arg = "X",
         .help = "Weight of other classes' texts (default: 0.05 if a class has fewer "
                 "than 80 rows on average, else 1).",
         .least = 1e-6,
         .most = BIG},
        {.name = "lambda",
         .kind = OPTION_FLOAT,
         .value = &o->lambda,
         .arg = "X",
         .help = "Weight of synthetic negatives; 0: plain one-versus-rest",
         .shows_number = true,
         .most = BIG},
        {.name = "rho",
         .kind = OPTION_FLOAT,
         .value = &o->rho,
         .arg = "X",
         .help = "Radius of the shell of negatives, as a multiple of the average "
                 "distance within the class",
         .shows_number = true,
         .least = 1e-6,
         .most = BIG},
        {.name = "radius",
         .kind = OPTION_FLOAT,
         .value = &o->radius,
         .arg = "X",
         .help = "This radius for every class instead (default: by --rho).",
         .most = BIG},
        {.name = "gamma",
         .kind = OPTION_FLOAT,
         .value = &o->gamma,
         .arg = "X",
         .help = "The shell reaches from the radius to X times the radius",
         .shows_number = true,
         .least = 1,
         .most = BIG},
        {.name = "positive-noise",
         .kind = OPTION_FLOAT,
         .value = &o->positive_noise,
         .arg = "X",
         .help =
             "Move a class's texts by noise of so many standard deviations while "
             "its head learns (default: 1 up to 10 rows per class, falling to 0 at 80).",
         .most = 100.0},
        {.name = "ascent-steps",
         .kind = OPTION_SIZE,
         .value = &o->ascent_steps,
         .arg = "N",
         .help = "Steps that make a synthetic negative harder; 0: none",
         .shows_number = true,
         .max = 10000},
        {.name = "ascent-rate",
         .kind = OPTION_FLOAT,
         .value = &o->ascent_rate,
         .arg = "X",
         .help = "Length of such a step, as a multiple of the radius",
         .shows_number = true,
         .most = BIG},
        {.name = "fence-reject",
         .kind = OPTION_FLOAT,
         .value = &o->fence_reject,
         .arg = "X",
         .help = "Loosen the fences until they reject at most this share of the dev "
                 "texts; 1: never (default: 0.1; 0.15 below 80 and from 200 rows per "
                 "class on).",
         .least = 1e-6,
         .most = 1.0},
        {.name = "fence-offset",
         .kind = OPTION_FLOAT,
         .value = &o->fence_offset,
         .arg = "X",
         .help = "Then add this to every margin; above 0 lets more in",
         .shows_number = true,
         .least = -BIG,
         .most = BIG},
        {.name = "no-noise",
         .kind = OPTION_FLAG,
         .value = &o->no_noise,
         .help = "Start a synthetic negative at the text itself, not beside it."},
        {.name = "no-projection",
         .kind = OPTION_FLAG,
         .value = &o->no_projection,
         .help = "Leave synthetic negatives where noise and ascent put them."},
    };
    option data[DATA_OPTIONS], methods[METHOD_SETTINGS];
    data_options_list(&r->data, data);
    method_settings_list(&o->method_options, methods);
    const struct {
        const option *list;
        size_t n;
    } groups[] = {{general, sizeof general / sizeof *general},
                  {data, DATA_OPTIONS},
                  {keeping, sizeof keeping / sizeof *keeping},
                  {known, sizeof known / sizeof *known},
                  {open, sizeof open / sizeof *open},
                  {methods, METHOD_SETTINGS}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (size_t k = 0; k < groups[i].n && n < TRAIN_OPTIONS_MAX; k++)
            out[n++] = groups[i].list[k];
    return n;
}

rf_status train_options_settings(train_request *r, rf_error *err)
{
    rf_buffer text;
    rf_train_options o = rf_train_options_default();
    rf_buffer_init(&text, MAX_SETTINGS, r->settings_path);
    rf_status st = rf_file_read(r->settings_path, &text, err);
    if (st == RF_OK)
        st = rf_train_options_take(&o, text.data ? text.data : "", text.len,
                                   r->settings_path, err);
    rf_buffer_release(&text);
    r->base = o;
    r->has_base = st == RF_OK;
    return st;
}

static bool is_stdin(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

const char *train_options_wrong(const train_request *r)
{
    if (!r->data_path)
        return "which data? Wanted a file, or - for standard input";
    if (!r->output)
        return "where to? Wanted -o MODEL";
    if (is_stdin(r->output))
        return "a model cannot be written to standard output; wanted -o MODEL";
    if (is_stdin(r->data_path) + is_stdin(r->dev_path) + is_stdin(r->open_path) > 1)
        return "only one of DATA, --dev and --open-texts can be standard input";
    if (r->o.resume && !r->o.checkpoint)
        return "--resume needs --checkpoint DIR";
    if (r->save.no_features && r->save.keep_examples)
        return "--keep-examples needs the features that --no-features leaves out";
    return NULL;
}
