/*
 * ringfence_encoder.h - encoders by themselves: from text to tokens and features
 *
 *   rf_encoder *encoder = rf_encoder_load(dir, &err);
 *   rf_embedder *embedder = encoder ? rf_embedder_new(encoder, NULL, &err) : NULL;
 *   if (!embedder || rf_embed(embedder, texts, lens, n, features, &err) != RF_OK)
 *       return fail(err.msg);
 *
 * Not needed to train or to use a classifier: ringfence.h alone does that. Its
 * conventions apply here too.
 */
#ifndef RINGFENCE_ENCODER_H
#define RINGFENCE_ENCODER_H

#include "ringfence.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An rf_vocab and an rf_encoder are read-only once made, and any number of threads may
 * share them; an rf_tokenizer and an rf_embedder are one caller's working state. */
typedef struct rf_vocab rf_vocab;         /* pieces of words and their ids */
typedef struct rf_tokenizer rf_tokenizer; /* turns text into ids */
typedef struct rf_encoder rf_encoder;     /* turns token ids into features */
typedef struct rf_embedder rf_embedder;   /* threads and memory to run one with */

/* ---- Getting encoders -------------------------------------------------------------- */

/* The built-in catalogue: encoders from npm packages, pinned by sha256, kept in
 * ${RINGFENCE_CACHE:-${XDG_CACHE_HOME:-~/.cache}/ringfence}. */
typedef struct rf_catalogue_entry {
    const char *name;    /* "minilm" */
    const char *title;   /* "all-MiniLM-L6-v2, half precision" */
    const char *package; /* npm package with version */
    const char *licence;
    const char *note;     /* what to know before choosing it */
    unsigned download_mb; /* size of the package */
    const char *alias;    /* a name that stays when a better encoder comes; may be NULL */
    const char *language; /* "English" */
    const char *speed;    /* "fast" or "medium" */
} rf_catalogue_entry;

/* Entry i, NULL past the end. */
RF_API const rf_catalogue_entry *rf_catalogue(size_t i);

/* The directory behind a catalogue name, a path, or a name of the Hugging Face hub
 * (OWNER/NAME or OWNER/NAME@REVISION; ringfence_hub.h). A directory that exists goes
 * before a name of the hub. The files of a hub encoder are compared with their recorded
 * sha256. RF_ERR_MISSING if the encoder is not in the cache yet; the message says how to
 * get it. */
RF_API rf_status rf_encoder_path(const char *name, char *path, size_t cap, rf_error *err);

/* Fetches a catalogue encoder into the cache, unless it is there: runs `npm pack`, checks
 * sha256, unpacks, converts, and renames into place; an interrupted call leaves no
 * half-made encoder behind. Needs npm and its registry only if the encoder is missing. A
 * name of the hub is looked for in the cache only; rf_hub_get fetches it. */
RF_API rf_status rf_encoder_get(const char *name, rf_progress progress, void *user,
                                rf_error *err);

/* Checks every file of a cached encoder against its sha256: that in the catalogue, or
 * that which was recorded when it came from the hub. */
RF_API rf_status rf_encoder_verify(const char *name, rf_error *err);

/* Removes an encoder of the catalogue or the hub from the cache. The sha256 of a hub
 * encoder stay known, and are compared if the same commit is fetched again. */
RF_API rf_status rf_encoder_remove(const char *name, rf_error *err);

/* Reads a BERT ONNX export and writes a directory that rf_encoder_load reads. config.json
 * and the tokenizer files are looked for beside the .onnx file and one directory up.
 * dir must not exist; it appears complete or not at all. */
RF_API rf_status rf_encoder_import(const char *onnx_file, const char *dir, rf_error *err);

/* ---- Encoders ---------------------------------------------------------------------- */

typedef struct rf_encoder_info {
    size_t layers;
    size_t width; /* features per token and per text */
    size_t heads;
    size_t inner;      /* width of the feed-forward layer */
    size_t vocab_size; /* rows of the embedding table */
    size_t max_tokens; /* longest text in tokens, [CLS] and [SEP] included */
    size_t parameters;
} rf_encoder_info;

/* Loads a BERT encoder from a Hugging Face directory: config.json, model.safetensors
 * (F32, F16 or BF16, names with or without the prefix "bert."), and the tokenizer files
 * of rf_vocab_load. Every size is checked against config.json, every weight for
 * finiteness if it takes part; nothing is ever unpickled or executed. */
RF_API rf_encoder *rf_encoder_load(const char *dir, rf_error *err);
RF_API void rf_encoder_free(rf_encoder *encoder);
RF_API rf_encoder_info rf_encoder_describe(const rf_encoder *encoder);

/* The encoder of a model, with the layers that its training tuned; lives as long as the
 * model. With the mean over tokens, truncation, and rf_model_summary.max_tokens its
 * features are those of rf_decision.feature, to the bit. */
RF_API const rf_encoder *rf_model_encoder(const rf_model *model);

/* The encoder's vocabulary; lives as long as the encoder. */
RF_API const rf_vocab *rf_encoder_vocab(const rf_encoder *encoder);

/* ---- Features ---------------------------------------------------------------------- */

typedef enum rf_pooling {
    RF_POOL_MEAN = 0, /* mean over the text's tokens, [CLS] and [SEP] included */
    RF_POOL_CLS = 1,  /* the vector of [CLS] */
} rf_pooling;

typedef enum rf_long_text {
    RF_LONG_TRUNCATE = 0, /* the first max_tokens tokens count, with [SEP] at the end */
    RF_LONG_WINDOW = 1,   /* mean of the features of windows that overlap by half */
} rf_long_text;

typedef struct rf_embed_options {
    size_t struct_size;
    size_t threads; /* worker threads, the caller's included; 0: one per CPU we may use */
    rf_pooling pooling;
    rf_long_text long_text;
    size_t max_tokens; /* per text or window; 0: the encoder's maximum */
    int layer;         /* pool the output of this layer; 0: embeddings; -1: the last */
    rf_precision precision; /* of the encoder's dense layers */
} rf_embed_options;

RF_API void rf_embed_options_init(rf_embed_options *options, size_t struct_size);
static inline rf_embed_options rf_embed_options_default(void)
{
    rf_embed_options options;
    rf_embed_options_init(&options, sizeof options);
    return options;
}

/* Working memory and threads for one caller. options may be NULL for the defaults.
 * Borrows encoder, which must outlive it. */
RF_API rf_embedder *rf_embedder_new(const rf_encoder *encoder,
                                    const rf_embed_options *options, rf_error *err);
RF_API void rf_embedder_free(rf_embedder *embedder);

/* Features of n texts: out is [n, width], row i for texts[i]. On failure the contents of
 * out are undefined. RF_ERR_ARG while a text is half fed (see streaming). */
RF_API rf_status rf_embed(rf_embedder *embedder, const char *const *texts,
                          const size_t *lens, size_t n, float *out, rf_error *err);

/* Streaming, for input that does not fit in memory or does not end. Give a text in as
 * many pieces as you like with rf_embedder_feed, close it with rf_embedder_end_text, and
 * receive features in input order through the sink, on the calling thread, whenever a
 * batch is full or rf_embedder_flush is called. Memory stays constant however many and
 * however long the texts are. feature is [width], valid during the call.
 * A failure drops the texts not yet delivered, the one being fed included; the embedder
 * can be used again. Without a sink features are computed and dropped. A sink cannot use
 * the embedder that calls it (RF_ERR_ARG). Features are finite: absurdly large weights,
 * which would give a NaN or an infinity, end in RF_ERR_NUMERIC. */
typedef rf_status (*rf_feature_sink)(void *user, const float *feature, rf_error *err);
RF_API void rf_embedder_set_sink(rf_embedder *embedder, rf_feature_sink sink, void *user);
RF_API rf_status rf_embedder_feed(rf_embedder *embedder, const char *bytes, size_t len,
                                  rf_error *err);
RF_API rf_status rf_embedder_end_text(rf_embedder *embedder, rf_error *err);
RF_API rf_status rf_embedder_flush(rf_embedder *embedder, rf_error *err);

/* The number of texts longer than max_tokens since the embedder was made. */
RF_API size_t rf_embedder_n_long(const rf_embedder *embedder);

/* The token vectors of one text after a layer (0: embeddings, up to the number of
 * layers), before pooling: out is [cap, width]. Sets *n_tokens; RF_ERR_LIMIT if cap is
 * smaller than that. The text is cut at max_tokens. RF_ERR_ARG for an embedder with
 * RF_LONG_WINDOW, and while a text is half fed. */
RF_API rf_status rf_embedder_states(rf_embedder *embedder, const char *text, size_t len,
                                    int layer, float *out, size_t cap, size_t *n_tokens,
                                    rf_error *err);

/* ---- Vocabulary and tokens --------------------------------------------------------- */

/* Reads the tokenizer of a Hugging Face directory: tokenizer.json if there is one
 * (vocabulary and normaliser flags), else vocab.txt with the flags of
 * tokenizer_config.json (uncased if that is missing too). BERT WordPiece, and unigram
 * models of SentencePiece as XLM-R has them.
 * The result is the caller's; free it with rf_vocab_free. */
RF_API rf_vocab *rf_vocab_load(const char *dir, rf_error *err);
RF_API void rf_vocab_free(rf_vocab *vocab);

/* Number of ids: one more than the largest. */
RF_API size_t rf_vocab_size(const rf_vocab *vocab);

/* The piece behind an id ("##ing"), NUL-terminated, its length in *len if len is not
 * NULL. NULL for an id that the vocabulary does not have. Lives as long as vocab. */
RF_API const char *rf_vocab_piece(const rf_vocab *vocab, int32_t id, size_t *len);

/* The id of a whole piece, -1 if there is none. Special tokens are found too. */
RF_API int32_t rf_vocab_find(const rf_vocab *vocab, const char *piece, size_t len);

/* Called with each id of a text in order, [CLS] first and [SEP] last. Anything but RF_OK
 * stops the text and is returned by the call that fed it. */
typedef rf_status (*rf_token_sink)(void *user, int32_t id, rf_error *err);

/* A tokenizer takes one text after another, each in any number of pieces; its memory does
 * not grow with the text, and its time is linear in it. max_tokens limits the ids of a
 * text, [CLS] and [SEP] included; a longer text loses its last word pieces and keeps
 * [SEP]. 0: no limit; 1 is refused: it has no room for [CLS] and [SEP]. Borrows vocab,
 * which must outlive the tokenizer. */
RF_API rf_tokenizer *rf_tokenizer_new(const rf_vocab *vocab, size_t max_tokens,
                                      rf_token_sink sink, void *user, rf_error *err);
RF_API void rf_tokenizer_free(rf_tokenizer *tokenizer);

/* Add bytes to the current text; the first call of a text starts it. */
RF_API rf_status rf_tokenizer_feed(rf_tokenizer *tokenizer, const char *bytes, size_t len,
                                   rf_error *err);

/* End the current text (an empty one if nothing was fed): emits what was pending and
 * [SEP]. *n_tokens, if not NULL, receives the number of ids the text has without a limit.
 * After a failure of feed or end the tokenizer is ready for a new text. */
RF_API rf_status rf_tokenizer_end(rf_tokenizer *tokenizer, size_t *n_tokens,
                                  rf_error *err);

/* The whole of one text at once, specials included. Writes at most cap ids and sets
 * *n_tokens to the number the text has; nothing is cut if *n_tokens <= cap. */
RF_API rf_status rf_tokenize(const rf_vocab *vocab, const char *text, size_t len,
                             int32_t *ids, size_t cap, size_t *n_tokens, rf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* RINGFENCE_ENCODER_H */
