/* unigram.c - the best path over a word */
#include "text/unigram.h"

#include <math.h>
#include <stdlib.h>

void rf_unigram_free(rf_unigram *u)
{
    if (!u)
        return;
    rf_charmap_release(&u->charmap);
    free(u->scores);
    free(u);
}

/* Bytes of the character at `at`. Stray bytes, which only a strange table of
 * replacements makes, count as characters. */
static size_t char_len(const char *word, size_t at, size_t len)
{
    unsigned char lead = (unsigned char)word[at];
    size_t n = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return n < len - at ? n : len - at;
}

/* The sum is compared before it is rounded to what a node keeps: SentencePiece does so,
 * and it decides between equal paths. */
static void offer(rf_unigram_node *node, double score, size_t start, int32_t id)
{
    if (node->id >= 0 && !(score > (double)node->score))
        return;
    *node = (rf_unigram_node){.score = (float)score, .start = (uint32_t)start, .id = id};
}

/* All pieces that begin at `at`; each costs a look into the table of pieces. */
static void offer_pieces(const rf_vocab *v, const char *word, size_t at, size_t len,
                         size_t first_char, rf_unigram_node *nodes)
{
    const rf_unigram *u = v->unigram;
    size_t room = len - at < v->longest ? len - at : v->longest;
    uint32_t hash = RF_HASH_WORD;
    bool single = false;
    for (size_t n = 1; n <= room; n++) {
        hash = rf_hash_byte(hash, word[at + n - 1]);
        bool boundary = at + n == len || (word[at + n] & 0xC0) != 0x80;
        int32_t id = boundary ? rf_vocab_lookup(v, word + at, n, hash, false) : -1;
        if (id < 0 || !isfinite(u->scores[id]))
            continue;
        offer(&nodes[at + n], (double)nodes[at].score + (double)u->scores[id], at, id);
        single |= n == first_char;
    }
    if (!single)
        offer(&nodes[at + first_char], (double)(nodes[at].score + u->unknown), at,
              v->unk);
}

void rf_unigram_path(const rf_vocab *v, const char *word, size_t len, float before,
                     rf_unigram_node *nodes)
{
    for (size_t i = 0; i <= len; i++)
        nodes[i] = (rf_unigram_node){.id = -1};
    nodes[0].score = before;
    for (size_t at = 0, n; at < len; at += n) {
        n = char_len(word, at, len);
        offer_pieces(v, word, at, len, n, nodes);
    }
    for (size_t at = len; at > 0; at = nodes[at].start)
        nodes[nodes[at].start].next = (uint32_t)at;
}
