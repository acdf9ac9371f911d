/*
 * quadtree.c - a quadtree from a sorted list: points sorted by the interleaved bits of
 * their coordinates (Morton order) are in the order of the leaves, so a cell is a range
 */
#include "map/quadtree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 24 /* levels: the finest cell is 2^-24 of the whole */
#define BUCKET 6 /* points of a leaf: about as costly as the cells it saves */

rf_status rf_quadtree_init(rf_quadtree *t, size_t n, rf_error *err)
{
    /* Every inner cell has two children or more, since chains of single children are
     * skipped: 2 n cells are enough. */
    *t = (rf_quadtree){.n = n, .max_cells = 2 * n + 2};
    t->points = malloc((2 * n + 2) * sizeof *t->points);
    t->order = malloc((n + 1) * sizeof *t->order);
    t->spare_order = malloc((n + 1) * sizeof *t->spare_order);
    t->codes = malloc((n + 1) * sizeof *t->codes);
    t->spare = malloc((n + 1) * sizeof *t->spare);
    t->cells = malloc(t->max_cells * sizeof *t->cells);
    if (t->points && t->order && t->spare_order && t->codes && t->spare && t->cells)
        return RF_OK;
    rf_quadtree_release(t);
    return rf_fail_nomem(err, (2 * n + 2) * sizeof *t->cells, "a tree of points");
}

void rf_quadtree_release(rf_quadtree *t)
{
    free(t->points);
    free(t->order);
    free(t->spare_order);
    free(t->codes);
    free(t->spare);
    free(t->cells);
    *t = (rf_quadtree){0};
}

/* ---- Sorting ----------------------------------------------------------------------- */

/* The lower 32 bits of x, a zero after each. */
static uint64_t widen(uint64_t x)
{
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    x = (x | x << 2) & 0x3333333333333333u;
    return (x | x << 1) & 0x5555555555555555u;
}

static uint64_t grid(double v, double low, double side)
{
    double at = (v - low) / side * (double)(1 << DEPTH);
    return at < (1 << DEPTH) - 1 ? (uint64_t)at : (1 << DEPTH) - 1;
}

/* Stable, by twelve bits at a time from the lowest. */
static void sort_codes(rf_quadtree *t)
{
    enum { BITS = 12, BINS = 1 << BITS };
    for (unsigned shift = 0; shift < 2 * DEPTH; shift += BITS) {
        uint32_t begin[BINS] = {0};
        for (size_t i = 0; i < t->n; i++)
            begin[t->codes[i] >> shift & (BINS - 1)]++;
        for (uint32_t b = 0, sum = 0; b < BINS; b++) {
            uint32_t count = begin[b];
            begin[b] = sum;
            sum += count;
        }
        for (size_t i = 0; i < t->n; i++) {
            uint32_t to = begin[t->codes[i] >> shift & (BINS - 1)]++;
            t->spare[to] = t->codes[i];
            t->spare_order[to] = t->order[i];
        }
        uint64_t *codes = t->codes;
        uint32_t *order = t->order;
        t->codes = t->spare;
        t->order = t->spare_order;
        t->spare = codes;
        t->spare_order = order;
    }
}

/* ---- Cells ------------------------------------------------------------------------- */

/* First of [first, end) whose code, shifted, is at least `want`. */
static size_t boundary(const uint64_t *codes, size_t first, size_t end, unsigned shift,
                       uint64_t want)
{
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (codes[middle] >> shift < want)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* The cell of points [first, end) at this level, and those below it. Levels that do not
 * split the points are skipped. */
static void build_cell(rf_quadtree *t, size_t first, size_t end, unsigned level,
                       double side)
{
    while (level < DEPTH && end - first > BUCKET &&
           t->codes[first] >> (2 * (DEPTH - level - 1)) ==
               t->codes[end - 1] >> (2 * (DEPTH - level - 1))) {
        level++;
        side /= 2;
    }
    rf_cell *c = &t->cells[t->n_cells++];
    double x = 0, y = 0;
    for (size_t i = first; i < end; i++) {
        x += t->points[2 * i];
        y += t->points[2 * i + 1];
    }
    *c = (rf_cell){.x = x / (double)(end - first),
                   .y = y / (double)(end - first),
                   .squared = level == DEPTH ? 0 : side * side,
                   .first = (uint32_t)first,
                   .count = (uint32_t)(end - first),
                   .leaf = end - first <= BUCKET || level == DEPTH};
    if (!c->leaf) {
        unsigned shift = 2 * (DEPTH - level - 1);
        uint64_t quarter = t->codes[first] >> shift >> 2 << 2;
        for (uint64_t q = 0; q < 4; q++) {
            size_t next =
                q < 3 ? boundary(t->codes, first, end, shift, quarter + q + 1) : end;
            if (next > first)
                build_cell(t, first, next, level + 1, side / 2);
            first = next;
        }
    }
    c->after = (uint32_t)t->n_cells;
}

void rf_quadtree_build(rf_quadtree *t, const double *points)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    t->n_cells = 0;
    if (t->n == 0)
        return;
    for (size_t i = 0; i < 2 * t->n; i++) {
        low[i % 2] = fmin(low[i % 2], points[i]);
        high[i % 2] = fmax(high[i % 2], points[i]);
    }
    double side = fmax(high[0] - low[0], high[1] - low[1]);
    side = side > 0 ? side : 1;
    for (size_t i = 0; i < t->n; i++) {
        t->order[i] = (uint32_t)i;
        t->codes[i] = widen(grid(points[2 * i], low[0], side)) |
                      widen(grid(points[2 * i + 1], low[1], side)) << 1;
    }
    sort_codes(t);
    for (size_t i = 0; i < t->n; i++)
        memcpy(t->points + 2 * i, points + 2 * t->order[i], 2 * sizeof *points);
    build_cell(t, 0, t->n, 0, side);
}

/* ---- Forces ------------------------------------------------------------------------ */

void rf_quadtree_repel(const rf_quadtree *t, double x, double y, double theta,
                       double force[2], double *sum)
{
    double fx = 0, fy = 0, s = 0, theta2 = theta * theta;
    for (uint32_t i = 0; i < t->n_cells;) {
        const rf_cell *c = &t->cells[i];
        double dx = x - c->x, dy = y - c->y, d2 = dx * dx + dy * dy;
        /* Points of a leaf on the last level coincide up to rounding. */
        if (c->squared < theta2 * d2 || (c->leaf && c->count > BUCKET)) {
            double q = 1 / (1 + d2), heap = (double)c->count * q;
            s += heap;
            fx += heap * q * dx;
            fy += heap * q * dy;
            i = c->after;
        } else if (c->leaf) {
            const double *p = t->points + 2 * (size_t)c->first;
            for (uint32_t j = 0; j < c->count; j++, p += 2) {
                double px = x - p[0], py = y - p[1], q = 1 / (1 + px * px + py * py);
                s += q;
                fx += q * q * px;
                fy += q * q * py;
            }
            i = c->after;
        } else
            i++;
    }
    force[0] = fx;
    force[1] = fy;
    *sum = s;
}
