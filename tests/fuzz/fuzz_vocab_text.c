/*
 * fuzz_vocab_text.c - arbitrary bytes as vocab.txt and tokenizer_config.json
 *
 * The first two bytes say how long the configuration is, low byte first (0: there is
 * none); it follows, and the rest is the vocabulary.
 */
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* A block of exactly these bytes: the sanitizer sees a step past its end. */
static char *copy(const uint8_t *bytes, size_t len)
{
    char *c = malloc(len ? len : 1);
    if (!c)
        abort();
    memcpy(c, bytes, len);
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2)
        return 0;
    size_t n_config = (size_t)bytes[0] | (size_t)bytes[1] << 8;
    bytes += 2;
    len -= 2;
    if (n_config > len)
        n_config = len;
    char *config = n_config ? copy(bytes, n_config) : NULL;
    char *text = copy(bytes + n_config, len - n_config);
    rf_error err = {0};
    rf_vocab *v = rf_vocab_from_text(text, len - n_config, "vocab.txt", config, n_config,
                                     "tokenizer_config.json", &err);
    free(config);
    if (!v) {
        if (err.code == RF_OK || err.msg[0] == '\0')
            abort();
        free(text);
        return 0;
    }
    for (int32_t id = 0; (size_t)id < rf_vocab_size(v); id++) {
        size_t n;
        const char *piece = rf_vocab_piece(v, id, &n);
        if (!piece || strlen(piece) != n)
            abort();
        if (n > 0 && rf_vocab_find(v, piece, n) < id) /* of equal pieces, the last */
            abort();
    }
    int32_t ids[64];
    size_t n;
    if (rf_tokenize(v, text, len - n_config, ids, 64, &n, NULL) != RF_OK || n < 2 ||
        ids[0] != v->cls)
        abort();
    rf_vocab_free(v);
    free(text);
    return 0;
}
