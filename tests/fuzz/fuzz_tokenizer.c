/*
 * fuzz_tokenizer.c - arbitrary bytes as text
 *
 * Two bytes choose, the rest is text. First byte: bits 0 to 3 are the normaliser's flags
 * (lower-case, strip accents, clean text, space ideographs), bits 4 to 7 the limit of
 * tokens (0 and 1: none). Second byte: where the text is cut in two. Whole, in two parts,
 * and byte by byte it must give the same ids, and ids that the vocabulary has.
 */
#include "text/vocab.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

typedef struct result {
    rf_buffer ids;
    size_t n_tokens;
} result;

static rf_status take(void *user, int32_t id, rf_error *err)
{
    return rf_buffer_add(user, &id, sizeof id, err);
}

static const rf_vocab *vocabulary(void)
{
    static rf_vocab *v;
    if (!v) {
        rf_buffer file;
        rf_buffer_init(&file, 1 << 20, "vocabulary");
        if (rf_file_read(GOLDEN_DIR "/tokens/small_vocab.txt", &file, NULL) != RF_OK)
            abort();
        v = rf_vocab_from_text(file.data, file.len, "small", NULL, 0, NULL, NULL);
        if (!v)
            abort();
        rf_buffer_release(&file);
    }
    return v;
}

static void feed(rf_tokenizer *t, const char *text, size_t len)
{
    if (rf_tokenizer_feed(t, text, len, NULL) != RF_OK)
        abort();
}

/* In two parts, of which one may be empty, or byte by byte. */
static result tokenize(const rf_vocab *v, size_t limit, const char *text, size_t len,
                       size_t cut, bool by_byte)
{
    result r;
    rf_buffer_init(&r.ids, (size_t)64 << 20, "ids");
    rf_tokenizer *t = rf_tokenizer_new(v, limit, take, &r.ids, NULL);
    if (!t)
        abort();
    if (by_byte) {
        for (size_t i = 0; i < len; i++)
            feed(t, text + i, 1);
    } else {
        feed(t, text, cut);
        feed(t, text + cut, len - cut);
    }
    if (rf_tokenizer_end(t, &r.n_tokens, NULL) != RF_OK)
        abort();
    rf_tokenizer_free(t);
    return r;
}

static void check(const rf_vocab *v, const result *r, size_t limit)
{
    size_t n = r->ids.len / sizeof(int32_t);
    size_t want = limit && r->n_tokens > limit ? limit : r->n_tokens;
    if (n != want || n < 2)
        abort();
    for (size_t i = 0; i < n; i++) {
        int32_t id;
        memcpy(&id, r->ids.data + i * sizeof id, sizeof id);
        if (!rf_vocab_piece(v, id, NULL) || (id == v->cls) != (i == 0) ||
            (id == v->sep) != (i + 1 == n))
            abort();
    }
}

static void same(const result *a, const result *b)
{
    if (a->n_tokens != b->n_tokens || a->ids.len != b->ids.len ||
        memcmp(a->ids.data, b->ids.data, a->ids.len) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2)
        return 0;
    rf_vocab v = *vocabulary();
    v.fold =
        (rf_fold_flags){.lowercase = bytes[0] & 1, .strip_accents = bytes[0] >> 1 & 1};
    v.clean_text = bytes[0] >> 2 & 1;
    v.space_cjk = bytes[0] >> 3 & 1;
    size_t limit = bytes[0] >> 4;
    if (limit == 1)
        limit = 0;
    const char *text = (const char *)bytes + 2;
    size_t cut = bytes[1] % (len - 1);
    len -= 2;
    result whole = tokenize(&v, limit, text, len, 0, false);
    result parts = tokenize(&v, limit, text, len, cut, false);
    result each = tokenize(&v, limit, text, len, 0, true);
    check(&v, &whole, limit);
    same(&whole, &parts);
    same(&whole, &each);
    rf_buffer_release(&whole.ids);
    rf_buffer_release(&parts.ids);
    rf_buffer_release(&each.ids);
    return 0;
}
