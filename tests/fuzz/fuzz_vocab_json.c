/*
 * fuzz_vocab_json.c - arbitrary bytes as tokenizer.json
 *
 * What is accepted must be usable: every piece can be found again, and a text becomes ids
 * that the vocabulary has.
 */
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const rf_vocab *v)
{
    for (int32_t id = 0; (size_t)id < rf_vocab_size(v); id++) {
        size_t n;
        const char *piece = rf_vocab_piece(v, id, &n);
        if (!piece || n == 0)
            continue;
        int32_t found = rf_vocab_find(v, piece, n); /* of equal pieces, the last */
        if (found < id || strcmp(rf_vocab_piece(v, found, NULL), piece) != 0)
            abort();
    }
    static const char text[] = "The caf\xC3\xA9, \xE4\xB8\xAD\xE6\x96\x87 unable\x01 "
                               "[CLS] a1\xCC\x81\xFF E\xCC\x81";
    static int32_t ids[65536]; /* a replacement may have a thousand characters */
    size_t n = 0;
    if (rf_tokenize(v, text, sizeof text - 1, ids, 65536, &n, NULL) != RF_OK || n < 2 ||
        n > 65536 || ids[0] != v->cls || ids[n - 1] != v->sep)
        abort();
    for (size_t i = 0; i < n; i++)
        if (!rf_vocab_piece(v, ids[i], NULL))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    rf_error err = {0};
    rf_vocab *v = rf_vocab_from_json((const char *)bytes, len, "fuzz", &err);
    if (v)
        check(v);
    else if (err.code == RF_OK || err.msg[0] == '\0')
        abort();
    rf_vocab_free(v);
    return 0;
}
