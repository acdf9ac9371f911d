/* near_duplicates.c - MinHash in bands, then exact comparison */
#include "check/near_duplicates.h"

#include "base/memory.h"
#include "base/rng.h"
#include "check/shingles.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#define BANDS 20
#define BAND 8 /* orders in a band */
#define ORDERS (BANDS * BAND)
#define BEFORE 8       /* texts of a band that a text is compared with */
#define LEAST_EQUAL 49 /* of 64 bits; texts of similarity 0.8 have 57.6 +- 2.4 */
#define AT_ONCE 256    /* texts of a work item */
#define NO_PIECES 0    /* the key of a text without pieces, which is like no other */

typedef struct pair {
    uint32_t a, b; /* a < b */
    float similarity;
} pair;

typedef struct search {
    const rf_checked *c;
    const uint32_t *rows; /* [n] */
    size_t n;
    uint32_t factor[ORDERS], offset[ORDERS];
    uint32_t *keys;       /* [BANDS][n] */
    uint64_t *bits;       /* [n] one of each of 64 orders: a first look at a pair */
    uint64_t *sorted;     /* [n] key and text, of one band */
    rf_buffer pairs;      /* to compare, of one band */
    rf_shingles *scratch; /* [threads][2] */
    uint32_t *group;
    float *lowest;
} search;

/* ---- Signatures -------------------------------------------------------------------- */

/* The smallest number of each order. The order of pieces h is that of factor h + offset:
 * h is well mixed already, so that this is random enough. */
static void sign_text(const search *s, const rf_shingles *pieces, uint32_t least[ORDERS])
{
    memset(least, 0xff, ORDERS * sizeof *least);
    for (size_t i = 0; i < pieces->n; i++) {
        uint32_t h = (uint32_t)pieces->hash[i];
        for (size_t k = 0; k < ORDERS; k++) {
            uint32_t v = s->factor[k] * h + s->offset[k];
            least[k] = v < least[k] ? v : least[k];
        }
    }
}

static void keep_signature(search *s, size_t i, const uint32_t least[ORDERS], bool any)
{
    uint64_t bits = 0;
    for (size_t k = 0; k < 64; k++)
        bits |= (uint64_t)(least[k] >> 4 & 1) << k;
    s->bits[i] = bits;
    for (size_t b = 0; b < BANDS; b++) {
        uint64_t h = b;
        for (size_t k = 0; k < BAND; k++)
            h = rf_rng_mix((h ^ least[b * BAND + k]) + RF_RNG_STEP);
        uint32_t key = (uint32_t)h;
        s->keys[b * s->n + i] = !any ? NO_PIECES : key == NO_PIECES ? 1 : key;
    }
}

static void sign_some(void *arg, size_t member, size_t members)
{
    search *s = arg;
    rf_shingles *pieces = s->scratch + 2 * member;
    uint32_t least[ORDERS];
    for (size_t from = member * AT_ONCE; from < s->n; from += members * AT_ONCE)
        for (size_t i = from; i < s->n && i < from + AT_ONCE; i++) {
            const rf_row *r = rf_dataset_row(s->c->data, s->rows[i]);
            rf_shingles_list(pieces, r->text, r->len);
            sign_text(s, pieces, least);
            keep_signature(s, i, least, pieces->n > 0);
        }
}

/* ---- Groups ------------------------------------------------------------------------ */

static uint32_t first_of(search *s, uint32_t i)
{
    while (s->group[i] != i)
        i = s->group[i] = s->group[s->group[i]];
    return i;
}

static void join(search *s, const pair *p)
{
    uint32_t a = first_of(s, p->a), b = first_of(s, p->b);
    if (a == b)
        return;
    uint32_t first = a < b ? a : b, other = a < b ? b : a;
    float low = s->lowest[other] < s->lowest[first] ? s->lowest[other] : s->lowest[first];
    s->group[other] = first;
    s->lowest[first] = p->similarity < low ? p->similarity : low;
}

/* ---- One band ---------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static bool worth_comparing(search *s, uint32_t a, uint32_t b)
{
    int equal = 64 - __builtin_popcountll(s->bits[a] ^ s->bits[b]);
    return equal >= LEAST_EQUAL && first_of(s, a) != first_of(s, b);
}

/* Pairs of texts with the same key that are not in one group yet. */
static rf_status list_pairs(search *s, size_t band, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0; i < s->n; i++)
        s->sorted[i] = (uint64_t)s->keys[band * s->n + i] << 32 | i;
    qsort(s->sorted, s->n, sizeof *s->sorted, by_number);
    rf_buffer_clear(&s->pairs);
    for (size_t i = 1; i < s->n; i++)
        for (size_t k = 1; k <= BEFORE && k <= i && st == RF_OK; k++) {
            uint64_t x = s->sorted[i - k], y = s->sorted[i];
            if (x >> 32 != y >> 32 || y >> 32 == NO_PIECES)
                break;
            const pair p = {(uint32_t)x, (uint32_t)y, 0.0f};
            if (worth_comparing(s, p.a, p.b))
                st = rf_buffer_add(&s->pairs, &p, sizeof p, err);
        }
    return st;
}

static pair *pairs_of(search *s, size_t *n)
{
    *n = s->pairs.len / sizeof(pair);
    return (pair *)(void *)s->pairs.data;
}

/* Pairs with the same second text follow each other. */
static void compare_some(void *arg, size_t member, size_t members)
{
    search *s = arg;
    size_t n;
    pair *p = pairs_of(s, &n);
    rf_shingles *x = s->scratch + 2 * member;
    for (size_t from = member * AT_ONCE; from < n; from += members * AT_ONCE)
        for (size_t i = from; i < n && i < from + AT_ONCE; i++) {
            const rf_row *a = rf_dataset_row(s->c->data, s->rows[p[i].a]);
            const rf_row *b = rf_dataset_row(s->c->data, s->rows[p[i].b]);
            rf_shingles_of(&x[0], a->text, a->len);
            if (i == from || p[i].b != p[i - 1].b)
                rf_shingles_of(&x[1], b->text, b->len);
            p[i].similarity = (float)rf_shingles_similarity(&x[0], &x[1]);
        }
}

static rf_status join_band(search *s, size_t band, rf_error *err)
{
    size_t n;
    rf_status st = list_pairs(s, band, err);
    if (st != RF_OK)
        return st;
    rf_team_run(s->c->team, compare_some, s);
    const pair *p = pairs_of(s, &n);
    for (size_t i = 0; i < n; i++)
        if (p[i].similarity >= (float)RF_NEAR_SIMILARITY)
            join(s, &p[i]);
    return RF_OK;
}

/* ---- All of it --------------------------------------------------------------------- */

static rf_status room(search *s, rf_error *err)
{
    size_t n = s->n + 1;
    s->keys = calloc(BANDS * n, sizeof *s->keys);
    s->bits = calloc(n, sizeof *s->bits);
    s->sorted = calloc(n, sizeof *s->sorted);
    s->scratch = calloc(2 * rf_team_size(s->c->team), sizeof *s->scratch);
    rf_buffer_init(&s->pairs, SIZE_MAX / 4, "pairs of texts");
    if (s->keys && s->bits && s->sorted && s->scratch)
        return RF_OK;
    return rf_fail_nomem(err, BANDS * n * sizeof *s->keys, "comparing texts");
}

rf_status rf_near_duplicates(const rf_checked *c, const uint32_t *rows, size_t n,
                             uint32_t *group, float *lowest, rf_error *err)
{
    search s = {.c = c, .rows = rows, .n = n, .group = group, .lowest = lowest};
    rf_status st = room(&s, err);
    for (size_t k = 0; k < ORDERS; k++) {
        uint64_t h = rf_rng_mix((k + 1) * RF_RNG_STEP);
        s.factor[k] = (uint32_t)h | 1;
        s.offset[k] = (uint32_t)(h >> 32);
    }
    for (size_t i = 0; i < n; i++) {
        group[i] = (uint32_t)i;
        lowest[i] = 1.0f;
    }
    if (st == RF_OK)
        rf_team_run(c->team, sign_some, &s);
    for (size_t b = 0; b < BANDS && st == RF_OK; b++) {
        st = rf_check_progress(c, err, "near duplicates: part %zu of %d", b + 1, BANDS);
        if (st == RF_OK)
            st = join_band(&s, b, err);
    }
    for (uint32_t i = 0; i < n; i++)
        group[i] = first_of(&s, i);
    free(s.keys);
    free(s.bits);
    free(s.sorted);
    free(s.scratch);
    rf_buffer_release(&s.pairs);
    return st;
}

/* ---- What was found ---------------------------------------------------------------- */

static rf_status report_groups(const rf_checked *c, const uint32_t *rows, size_t n,
                               const uint32_t *group, const float *lowest,
                               uint32_t *counts, rf_error *err)
{
    rf_groups g;
    rf_status st = rf_groups_init(&g, group, n, n, err);
    if (st != RF_OK)
        return st;
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        uint32_t *member = rf_groups_at(&g, i);
        size_t size = rf_groups_size(&g, i);
        for (size_t k = 0; k < size; k++)
            member[k] = rows[member[k]];
        if (size > 1)
            st = rf_findings_add_texts(
                c, RF_FINDING_NEAR_DUPLICATE, RF_FINDING_NEAR_CONFLICT, member, size,
                (double)lowest[i], "nearly the same text", counts, err);
    }
    rf_groups_release(&g);
    return st;
}

rf_status rf_near_duplicates_report(const rf_checked *c, rf_error *err)
{
    size_t n = 0;
    uint32_t *rows = calloc(c->rows + 1, sizeof *rows);
    uint32_t *group = calloc(c->rows + 1, sizeof *group);
    uint32_t *counts = calloc(c->classes + 1, sizeof *counts);
    float *lowest = calloc(c->rows + 1, sizeof *lowest);
    rf_status st = rows && group && counts && lowest
                       ? RF_OK
                       : rf_fail_nomem(err, c->rows * sizeof *rows, "comparing texts");
    for (uint32_t i = 0; i < c->rows && st == RF_OK; i++)
        if (c->same_text[i] == i && !c->empty[i])
            rows[n++] = i;
    if (st == RF_OK)
        st = rf_near_duplicates(c, rows, n, group, lowest, err);
    if (st == RF_OK)
        st = report_groups(c, rows, n, group, lowest, counts, err);
    free(rows);
    free(group);
    free(counts);
    free(lowest);
    return st;
}
