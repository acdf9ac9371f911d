/* cmd_embed.c - ringfence embed: prints the features of each line of text, in constant
 * memory
 */
#include "commands.h"

#include "base/plural.h"
#include "feature_output.h"
#include "lines.h"
#include "ringfence_encoder.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Options ----------------------------------------------------------------------- */

typedef struct embed_request {
    const char *encoder, *file;
    rf_embed_options o;
    int pooling, long_text, precision, format; /* as chosen on the command line */
    size_t layer;                              /* SIZE_MAX: the last */
} embed_request;

#define EMBED_OPTIONS 8

/* Sets the defaults in r and lists the options that fill it. */
static void list_options(embed_request *r, option out[EMBED_OPTIONS])
{
    static const char *const poolings[] = {"mean", "cls", NULL};
    static const char *const formats[] = {"tsv", "npy", NULL};
    static const char *const long_texts[] = {"truncate", "window", NULL};
    *r = (embed_request){.o = rf_embed_options_default(),
                         .pooling = RF_POOL_MEAN,
                         .long_text = RF_LONG_TRUNCATE,
                         .format = FEATURES_TSV,
                         .layer = SIZE_MAX};
    const option list[EMBED_OPTIONS] = {
        {.name = "encoder",
         .kind = OPTION_TEXT,
         .value = &r->encoder,
         .arg = "E",
         .help = "Catalogue name, directory or hub name of the encoder, or a model file: "
                 "then its "
                 "own encoder, as it was tuned (default minilm)."},
        {.name = "pooling",
         .kind = OPTION_CHOICE,
         .value = &r->pooling,
         .arg = "mean|cls",
         .help = "Mean over all tokens (default), or the vector of [CLS].",
         .choices = poolings},
        {.name = "layer",
         .kind = OPTION_SIZE,
         .value = &r->layer,
         .arg = "N",
         .help = "Pool the output of layer N; 0 is the embeddings (default: the last).",
         .max = 256},
        {.name = "max-tokens",
         .kind = OPTION_SIZE,
         .value = &r->o.max_tokens,
         .arg = "N",
         .help = "Tokens per text or window (default: the encoder's maximum, or the "
                 "model's).",
         .min = 2,
         .max = RF_MAX_POSITIONS},
        {.name = "long-text",
         .kind = OPTION_CHOICE,
         .value = &r->long_text,
         .arg = "truncate|window",
         .help = "Truncate long texts (default), or average over windows that overlap by "
                 "half.",
         .choices = long_texts},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &r->o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The result is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
        PRECISION_OPTION(&r->precision),
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &r->format,
         .arg = "tsv|npy",
         .help = "Tab-separated numbers (default), or one NumPy array of float32.",
         .choices = formats},
    };
    memcpy(out, list, sizeof list);
}

/* Copies the choices that were parsed as numbers into r->o. */
static void finish_options(embed_request *r)
{
    r->o.pooling = (rf_pooling)r->pooling;
    r->o.long_text = (rf_long_text)r->long_text;
    r->o.precision = precision_of(r->precision);
    if (r->layer != SIZE_MAX)
        r->o.layer = (int)r->layer;
}

/* ---- The stream -------------------------------------------------------------------- */

typedef struct embed_stream {
    rf_embedder *embedder;
    feature_output out;
    size_t n_texts;
} embed_stream;

static rf_status put_feature(void *user, const float *feature, rf_error *err)
{
    embed_stream *s = user;
    screen_progress("texts", ++s->n_texts);
    return feature_output_add(&s->out, feature, err);
}

static rf_status feed_bytes(void *user, const char *bytes, size_t len, rf_error *err)
{
    embed_stream *s = user;
    return rf_embedder_feed(s->embedder, bytes, len, err);
}

static rf_status end_line(void *user, rf_error *err)
{
    embed_stream *s = user;
    return rf_embedder_end_text(s->embedder, err);
}

static rf_status flush_pending(void *user, rf_error *err)
{
    embed_stream *s = user;
    rf_status st = rf_embedder_flush(s->embedder, err);
    return st == RF_OK ? feature_output_flush(&s->out, err) : st;
}

static rf_status embed_lines(embed_stream *s, const embed_request *r, size_t width,
                             rf_error *err)
{
    const line_sink sink = {s, feed_bytes, end_line, flush_pending};
    rf_embedder_set_sink(s->embedder, put_feature, s);
    rf_status st = feature_output_open(&s->out, (feature_format)r->format, width, err);
    if (st == RF_OK)
        st = lines_read(r->file, &sink, err);
    if (st == RF_OK)
        st = rf_embedder_flush(s->embedder, err);
    if (st == RF_OK)
        st = feature_output_close(&s->out, err);
    feature_output_release(&s->out);
    screen_progress_end();
    return st;
}

static void warn_truncated(const embed_stream *s, size_t max_tokens)
{
    size_t n = rf_embedder_n_long(s->embedder);
    if (n > 0)
        screen_complain("%zu of %zu %s %s more than %zu tokens and %s truncated "
                        "(--long-text window reads all of it)",
                        n, s->n_texts, rf_plural(s->n_texts, "text", "texts"),
                        rf_plural(n, "has", "have"), max_tokens,
                        rf_plural(n, "was", "were"));
}

/* ---- The command ------------------------------------------------------------------- */

static rf_status embed_with(const rf_encoder *encoder, const embed_request *r,
                            rf_error *err)
{
    const rf_encoder_info info = rf_encoder_describe(encoder);
    embed_stream s = {.embedder = rf_embedder_new(encoder, &r->o, err)};
    if (!s.embedder)
        return err->code;
    rf_status st = embed_lines(&s, r, info.width, err);
    if (st == RF_OK && r->o.long_text == RF_LONG_TRUNCATE)
        warn_truncated(&s, r->o.max_tokens ? r->o.max_tokens : info.max_tokens);
    rf_embedder_free(s.embedder);
    return st;
}

/* With the encoder of a model: what rf_decision.feature holds. */
static rf_status embed_with_model(const char *path, embed_request *r, rf_error *err)
{
    rf_model_summary s;
    rf_model *model = rf_model_load(path, err);
    if (!model)
        return err->code;
    rf_model_summarize(model, &s);
    if (r->o.max_tokens == 0)
        r->o.max_tokens = s.max_tokens;
    rf_status st = embed_with(rf_model_encoder(model), r, err);
    rf_model_free(model);
    return st;
}

static rf_status embed(embed_request *r, rf_error *err)
{
    char dir[RF_PATH_MAX];
    struct stat about;
    rf_status st = command_encoder_dir(r->encoder, dir, err);
    if (st != RF_OK)
        return st;
    if (stat(dir, &about) == 0 && S_ISREG(about.st_mode))
        return embed_with_model(dir, r, err);
    rf_encoder *encoder = rf_encoder_load(dir, err);
    if (!encoder)
        return err->code;
    st = embed_with(encoder, r, err);
    rf_encoder_free(encoder);
    return st;
}

static int run_embed(const command *self, int argc, char **argv)
{
    embed_request r;
    option options[EMBED_OPTIONS];
    size_t n_files;
    list_options(&r, options);
    switch (
        options_parse(self, options, EMBED_OPTIONS, argc, argv, &r.file, 1, &n_files)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    finish_options(&r);
    rf_error err = {0};
    return embed(&r, &err) == RF_OK ? 0 : command_failed(&err);
}

const command command_embed = {
    .name = "embed",
    .synopsis = "[--encoder E|MODEL] [OPTIONS] [FILE|-]",
    .summary = "Turn each line of text into a vector of features.",
    .details =
        "Reads FILE, or standard input, and prints one row of features per line of\n"
        "text, in order. Memory grows neither with the number of lines nor with\n"
        "their length. The numbers of the tsv format read back to the same bits.\n\n"
        "With --encoder MODEL.rf the features are those that the model judges, from the\n"
        "layers that its training tuned.",
    .run = run_embed,
};
