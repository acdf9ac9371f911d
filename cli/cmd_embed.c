/* cmd_embed.c - text to features, a line at a time, in constant memory */
#include "commands.h"

#include "feature_output.h"
#include "lines.h"
#include "screen.h"

#include <stdio.h>

typedef struct state {
    rf_embedder *embedder;
    feature_output out;
    size_t n_texts;
} state;

static rf_status put(void *user, const float *feature, rf_error *err)
{
    state *s = user;
    screen_progress("texts", ++s->n_texts);
    return feature_output_add(&s->out, feature, err);
}

static rf_status feed(void *user, const char *bytes, size_t len, rf_error *err)
{
    state *s = user;
    return rf_embedder_feed(s->embedder, bytes, len, err);
}

static rf_status end(void *user, rf_error *err)
{
    state *s = user;
    return rf_embedder_end_text(s->embedder, err);
}

static rf_status idle(void *user, rf_error *err)
{
    state *s = user;
    rf_status st = rf_embedder_flush(s->embedder, err);
    return st == RF_OK ? feature_output_flush(&s->out, err) : st;
}

static rf_status embed(state *s, const rf_encoder *encoder, const rf_embed_options *o,
                       const char *file, feature_format format, rf_error *err)
{
    s->embedder = rf_embedder_new(encoder, o, err);
    if (!s->embedder)
        return err->code;
    rf_embedder_set_sink(s->embedder, put, s);
    const line_sink sink = {s, feed, end, idle};
    rf_status st =
        feature_output_open(&s->out, format, rf_encoder_describe(encoder).width, err);
    if (st == RF_OK)
        st = lines_read(file, &sink, err);
    if (st == RF_OK)
        st = rf_embedder_flush(s->embedder, err);
    if (st == RF_OK)
        st = feature_output_close(&s->out, err);
    feature_output_release(&s->out);
    screen_progress_end();
    size_t n_long = rf_embedder_n_long(s->embedder);
    size_t max = o->max_tokens ? o->max_tokens : rf_encoder_describe(encoder).max_tokens;
    if (st == RF_OK && n_long > 0 && o->long_text == RF_LONG_TRUNCATE)
        screen_complain(
            "%zu of %zu texts have more than %zu tokens; the rest of each was "
            "left out (--long-text window reads all of it)",
            n_long, s->n_texts, max);
    rf_embedder_free(s->embedder);
    return st;
}

static int run(const command *self, int argc, char **argv)
{
    static const char *const poolings[] = {"mean", "cls", NULL};
    static const char *const formats[] = {"tsv", "npy", NULL};
    static const char *const long_texts[] = {"truncate", "window", NULL};
    const char *encoder_name = NULL, *file = NULL;
    int pooling = RF_POOL_MEAN, format = FEATURES_TSV, long_text = RF_LONG_TRUNCATE;
    size_t threads = 0, max_tokens = 0, layer = SIZE_MAX, n_files;
    const option options[] = {
        {.name = "encoder",
         .kind = OPTION_TEXT,
         .value = &encoder_name,
         .arg = "E",
         .help = "Catalogue name or directory of the encoder (default minilm)."},
        {.name = "pooling",
         .kind = OPTION_CHOICE,
         .value = &pooling,
         .arg = "mean|cls",
         .help = "Mean over all tokens (default), or the vector of [CLS].",
         .choices = poolings},
        {.name = "layer",
         .kind = OPTION_SIZE,
         .value = &layer,
         .arg = "N",
         .help = "Pool the output of layer N; 0 is the embeddings (default: the last).",
         .max = 256},
        {.name = "max-tokens",
         .kind = OPTION_SIZE,
         .value = &max_tokens,
         .arg = "N",
         .help = "Tokens per text or window (default: the encoder's maximum).",
         .min = 2,
         .max = RF_MAX_POSITIONS},
        {.name = "long-text",
         .kind = OPTION_CHOICE,
         .value = &long_text,
         .arg = "truncate|window",
         .help =
             "Cut long texts (default), or average over windows that overlap by half.",
         .choices = long_texts},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The result is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &format,
         .arg = "tsv|npy",
         .help = "Numbers as text (default), or one NumPy array of float32.",
         .choices = formats},
    };
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          &file, 1, &n_files)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    rf_embed_options o = rf_embed_options_default();
    o.threads = threads;
    o.max_tokens = max_tokens;
    o.pooling = (rf_pooling)pooling;
    o.long_text = (rf_long_text)long_text;
    if (layer != SIZE_MAX)
        o.layer = (int)layer;

    rf_error err = {0};
    char dir[RF_PATH_MAX];
    state s = {0};
    rf_encoder *encoder = NULL;
    rf_status st = command_encoder_dir(encoder_name, dir, &err);
    if (st == RF_OK) {
        encoder = rf_encoder_load(dir, &err);
        st = encoder ? embed(&s, encoder, &o, file, (feature_format)format, &err)
                     : err.code;
    }
    rf_encoder_free(encoder);
    return st == RF_OK ? 0 : command_failed(&err);
}

const command command_embed = {
    .name = "embed",
    .synopsis = "[--encoder E] [OPTIONS] [FILE|-]",
    .summary = "Turn each line of text into a vector of features.",
    .details =
        "Reads FILE, or standard input, and prints one row of features per line of\n"
        "text, in order. Memory does not grow with the input: neither with the\n"
        "number of lines nor with their length. The numbers of the tsv format read\n"
        "back to the same bits.",
    .run = run,
};
