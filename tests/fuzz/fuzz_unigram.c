/*
 * fuzz_unigram.c - arbitrary bytes as text for a unigram model
 *
 * Two bytes choose, the rest is text. First byte: bit 0 chooses the model (with or
 * without byte fallback), bits 4 to 7 the limit of tokens (0 and 1: none). Second byte:
 * where the text is cut in two. Whole, in two parts, and byte by byte it must give the
 * same ids, and ids that the vocabulary has; no text has a special token in it.
 */
#include "text/vocab.h"

#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const rf_vocab *vocabulary(size_t which)
{
    static rf_vocab *v[2];
    static const char *const dirs[] = {GOLDEN_DIR "/tokens/unigram",
                                       GOLDEN_DIR "/tokens/unigram_bytes"};
    if (!v[which] && !(v[which] = rf_vocab_load(dirs[which], NULL)))
        abort();
    return v[which];
}

static rf_status take(void *user, int32_t id, rf_error *err)
{
    return rf_buffer_add(user, &id, sizeof id, err);
}

/* In parts of `part` bytes. */
static size_t tokenize(const rf_vocab *v, size_t limit, const char *text, size_t len,
                       size_t part, rf_buffer *ids)
{
    size_t n_tokens;
    rf_buffer_init(ids, (size_t)64 << 20, "ids");
    rf_tokenizer *t = rf_tokenizer_new(v, limit, take, ids, NULL);
    if (!t)
        abort();
    for (size_t i = 0; i < len; i += part)
        if (rf_tokenizer_feed(t, text + i, len - i < part ? len - i : part, NULL) !=
            RF_OK)
            abort();
    if (rf_tokenizer_end(t, &n_tokens, NULL) != RF_OK)
        abort();
    rf_tokenizer_free(t);
    return n_tokens;
}

static void check(const rf_vocab *v, const rf_buffer *ids, size_t n_tokens, size_t limit)
{
    size_t n = ids->len / sizeof(int32_t);
    if (n != (limit && n_tokens > limit ? limit : n_tokens) || n < 2)
        abort();
    for (size_t i = 0; i < n; i++) {
        int32_t id;
        memcpy(&id, ids->data + i * sizeof id, sizeof id);
        if (!rf_vocab_piece(v, id, NULL) || (id == v->cls) != (i == 0) ||
            (id == v->sep) != (i + 1 == n))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2)
        return 0;
    const rf_vocab *v = vocabulary(bytes[0] & 1);
    size_t limit = bytes[0] >> 4 == 1 ? 0 : bytes[0] >> 4, cut = bytes[1] % (len - 1) + 1;
    const char *text = (const char *)bytes + 2;
    len -= 2;
    rf_buffer ids[3];
    const size_t parts[3] = {len + 1, cut, 1};
    size_t n = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t got = tokenize(v, limit, text, len, parts[i], &ids[i]);
        if (i > 0 && (got != n || ids[i].len != ids[0].len ||
                      memcmp(ids[i].data, ids[0].data, ids[0].len) != 0))
            abort();
        n = got;
    }
    check(v, &ids[0], n, limit);
    for (size_t i = 0; i < 3; i++)
        rf_buffer_release(&ids[i]);
    return 0;
}
