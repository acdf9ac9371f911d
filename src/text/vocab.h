/*
 * vocab.h - the pieces of a tokenizer and the flags that go with them
 *
 * Pieces are found by hash: an open-addressed table of ids, twice as large as the
 * vocabulary. The tokenizer looks up prefixes of a word, longest first; since the hash of
 * a prefix is a by-product of hashing the word, each lookup costs one probe.
 *
 * Pieces are those of WordPiece (BERT) or of a unigram model (SentencePiece, unigram.h).
 */
#ifndef RF_TEXT_VOCAB_H
#define RF_TEXT_VOCAB_H

#include "base/error.h"
#include "text/chars.h"
#include "ringfence_encoder.h"

/* Maximum of max_input_chars_per_word; BERT has 100. */
#define RF_MAX_WORD_CHARS 1000

typedef struct rf_piece {
    uint32_t offset; /* into bytes; the text is followed by a NUL */
    uint32_t len;
    uint32_t hash; /* of the piece's text, without the prefix for a continuation */
} rf_piece;

struct rf_vocab {
    char *bytes;
    rf_piece *pieces; /* [size]; offset UINT32_MAX: no piece has this id */
    size_t size;
    int32_t *table; /* [table_size], -1 for free */
    size_t table_size;
    size_t longest; /* bytes of the longest piece, without the prefix */

    char prefix[16]; /* of pieces inside a word: "##" */
    size_t prefix_len;
    size_t max_word_chars; /* longer words are [UNK] */
    bool clean_text;       /* drop control characters */
    bool space_cjk;        /* each ideograph is a word */
    rf_fold_flags fold;

    int32_t unk, cls, sep;      /* of XLM-R: <unk>, <s>, </s> */
    struct rf_unigram *unigram; /* NULL: WordPiece */
};

/* Adds one byte to a hash. Start with RF_HASH_WORD for a piece that begins a word and
 * with RF_HASH_INSIDE for one that continues it. */
#define RF_HASH_WORD 2166136261u
#define RF_HASH_INSIDE 2654435769u
static inline uint32_t rf_hash_byte(uint32_t h, char c)
{
    return (h ^ (unsigned char)c) * 16777619u;
}

/* The id of the piece with this text (prefix not included), hash, and place; -1 if there
 * is none. */
int32_t rf_vocab_lookup(const rf_vocab *v, const char *text, size_t len, uint32_t hash,
                        bool inside);

/* Which files make up the tokenizer of a directory: tokenizer.json alone, or vocab.txt
 * and, if it is there, tokenizer_config.json. Unused names are NULL. */
rf_status rf_vocab_files(const char *dir, const char *names[2], rf_error *err);

#define RF_MAX_TOKENIZER_FILE ((size_t)256 << 20)
#define RF_MAX_TOKENIZER_CONFIG ((size_t)4 << 20)

/* From memory: the contents of tokenizer.json, or of vocab.txt
 * and tokenizer_config.json (config may be NULL). name is used in messages. */
rf_vocab *rf_vocab_from_json(const char *json, size_t len, const char *name,
                             rf_error *err);
rf_vocab *rf_vocab_from_text(const char *text, size_t len, const char *name,
                             const char *config, size_t config_len,
                             const char *config_name, rf_error *err);

#endif
