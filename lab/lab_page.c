/* lab_page.c - rf_lab_report: one HTML page about the runs of a lab */
#include "lab/lab_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Parts of sections ------------------------------------------------------------- */

void rf_lab_section(rf_lab_page *r, const char *heading, const char *lead)
{
    rf_page *p = &r->page;
    rf_page_addf(p, "<section>\n<h2>%s", heading);
    if (r->many) {
        rf_page_add(p, " <span class=\"soft\">with</span> ");
        rf_lab_name(p, r->lab.encoder);
    }
    rf_page_add(p, "</h2>\n");
    if (lead)
        rf_page_addf(p, "<p class=\"lead\">%s</p>\n", lead);
}

void rf_lab_name(rf_page *p, const char *name)
{
    rf_page_add(p, "<span class=\"t\">");
    rf_page_words(p, name);
    rf_page_add(p, "</span>");
}

void rf_lab_percent(rf_page *p, double ratio)
{
    rf_page_short(p, 100 * ratio, 2);
    rf_page_add(p, "&nbsp;%");
}

void rf_lab_heading(rf_page *p, const char *set, double ratio)
{
    rf_page_add(p, "<h3>");
    rf_lab_name(p, set);
    if (ratio > 0) {
        rf_page_add(p, ", ");
        rf_lab_percent(p, ratio);
        rf_page_add(p, " known");
    }
    rf_page_add(p, "</h3>\n");
}

void rf_lab_signed(rf_page *p, double value, int decimals)
{
    double unit = pow(10, -decimals);
    double rounded = round(value / unit) * unit;
    rf_page_add(p, rounded > 0 ? "+" : rounded < 0 ? "&minus;" : "");
    rf_page_number(p, fabs(rounded), decimals);
}

void rf_lab_cell(rf_page *p, bool there, double value, bool best)
{
    if (!there) {
        rf_page_add(p, "<td class=\"n soft\">&ndash;</td>");
        return;
    }
    rf_page_add(p, best ? "<td class=\"n\"><b>" : "<td class=\"n\">");
    rf_page_number(p, value, 2);
    rf_page_add(p, best ? "</b></td>" : "</td>");
}

void rf_lab_soft_cell(rf_page *p, bool there, double value)
{
    rf_page_add(p, "<td class=\"n soft\">");
    if (there)
        rf_page_number(p, value, 2);
    rf_page_add(p, "</td>");
}

void rf_lab_paragraph(rf_lab_page *r, void (*write)(const rf_lab *lab))
{
    rf_buffer_clear(&r->sheet.text);
    write(&r->lab);
    if (r->sheet.status != RF_OK || !r->sheet.text.data)
        return;
    rf_page_add(&r->page, "<p class=\"note t\">");
    size_t len = r->sheet.text.len;
    while (len > 0 && r->sheet.text.data[len - 1] == '\n')
        len--;
    rf_page_text(&r->page, r->sheet.text.data, len);
    rf_page_add(&r->page, "</p>\n");
}

/* ---- Encoders ---------------------------------------------------------------------- */

/* The runs of one encoder. */
typedef struct block {
    const rf_run *runs;
    size_t n;
} block;

static int by_encoder(const void *a, const void *b)
{
    const rf_run *x = a, *y = b;
    int c = strcmp(x->encoder, y->encoder);
    return c ? c : rf_run_compare(x, y);
}

/* Most runs first; ties by position. */
static int by_runs(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->runs < y->runs ? -1 : x->runs > y->runs;
}

static size_t find_blocks(const rf_run *runs, size_t n, block *out)
{
    size_t blocks = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n; to++)
            if (strcmp(runs[to].encoder, runs[from].encoder) != 0)
                break;
        out[blocks++] = (block){runs + from, to - from};
    }
    qsort(out, blocks, sizeof *out, by_runs);
    return blocks;
}

static void take_block(rf_lab_page *r, const block *b)
{
    r->lab.runs = b->runs;
    r->lab.n = b->n;
    r->lab.encoder = b->runs[0].encoder;
}

/* ---- The page ---------------------------------------------------------------------- */

static void put_encoder_sections(rf_lab_page *r)
{
    void (*const sections[])(rf_lab_page *) = {
        rf_lab_paired, rf_lab_methods, rf_lab_ablation,   rf_lab_negatives,
        rf_lab_curves, rf_lab_few,     rf_lab_confusions, rf_lab_times};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](r);
}

static rf_status put_page(rf_lab_page *r, const block *blocks, size_t n, rf_error *err)
{
    rf_page *p = &r->page;
    for (size_t i = 0; i < n; i++)
        r->encoders[i] = blocks[i].runs[0].encoder;
    r->n_encoders = n;
    rf_page_begin(p, r->o->title ? r->o->title : "Open-world classification",
                  "ringfence lab report");
    r->many = n > 1;
    for (size_t i = 0; i < n; i++) {
        take_block(r, &blocks[i]);
        rf_lab_headline(r);
        if (i == 0)
            rf_lab_paragraph(r, rf_lab_note);
    }
    rf_lab_facts(r);
    for (size_t i = 0; i < n; i++) {
        take_block(r, &blocks[i]);
        put_encoder_sections(r);
    }
    take_block(r, &blocks[0]);
    rf_status st = rf_lab_heads(r, err);
    if (st != RF_OK)
        return st;
    rf_lab_provenance(r);
    rf_page_add(p, "<footer>Made by ringfence " RF_VERSION
                   ". This page is self-contained and makes no network requests.");
    rf_page_add(p, r->o->data ? " It contains texts of a test set.</footer>\n"
                              : "</footer>\n");
    rf_page_end(p);
    if (r->sheet.status != RF_OK) /* out of memory in a lookup */
        return rf_fail(err, r->sheet.status, 0, "%s", r->sheet.err->msg);
    return RF_OK;
}

static rf_status write_page(rf_lab_page *r, const block *blocks, size_t n,
                            const char *path, rf_error *err)
{
    rf_error words = {0};
    rf_published *published = NULL;
    rf_page_init(&r->page);
    rf_sheet_init(&r->sheet, RF_TABLE_TEXT, &words);
    r->lab.sheet = &r->sheet;
    rf_status st = rf_published_load(&published, &r->lab.n_published, err);
    r->lab.published = published;
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        r->lab.values[i] = calloc(r->n, sizeof(double));
        if (!r->lab.values[i])
            st = rf_fail_nomem(err, r->n * sizeof(double), "figures");
    }
    r->encoders = calloc(n, sizeof *r->encoders);
    if (st == RF_OK && !r->encoders)
        st = rf_fail_nomem(err, n * sizeof *r->encoders, "the encoders");
    if (st == RF_OK)
        st = put_page(r, blocks, n, err);
    if (st == RF_OK)
        st = rf_page_write(&r->page, path, err);
    rf_page_release(&r->page);
    rf_buffer_release(&r->sheet.text);
    free(r->lab.values[0]);
    free(r->lab.values[1]);
    free(published);
    free(r->encoders);
    return st;
}

/* Keeps the block of one encoder, or all if it is NULL. */
static size_t choose_blocks(block *blocks, size_t n, const char *encoder)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!encoder || strcmp(blocks[i].runs[0].encoder, encoder) == 0)
            blocks[kept++] = blocks[i];
    return kept;
}

rf_status rf_lab_report(const char *dir, const rf_lab_report_options *options,
                        const char *path, rf_error *err)
{
    rf_error local = {0};
    rf_lab_report_options o = options ? *options : (rf_lab_report_options){0};
    rf_run *runs = NULL;
    size_t n = 0;
    err = err ? err : &local;
    rf_status st = rf_runs_load(dir, &runs, &n, err);
    if (st == RF_OK && n == 0)
        st = rf_fail(err, RF_ERR_MISSING, 0, "%s/" RF_RUNS_FILE ": no runs", dir);
    block *blocks = st == RF_OK ? calloc(n, sizeof *blocks) : NULL;
    if (st == RF_OK && !blocks)
        st = rf_fail_nomem(err, n * sizeof *blocks, "the encoders");
    if (st == RF_OK) {
        qsort(runs, n, sizeof *runs, by_encoder);
        size_t n_blocks = choose_blocks(blocks, find_blocks(runs, n, blocks), o.encoder);
        rf_lab_page r = {.o = &o, .dir = dir, .runs = runs, .n = n};
        if (n_blocks == 1) {
            r.runs = blocks[0].runs;
            r.n = blocks[0].n;
        }
        st = n_blocks ? write_page(&r, blocks, n_blocks, path, err)
                      : rf_fail(err, RF_ERR_MISSING, 0, "%s: no run with encoder %s", dir,
                                o.encoder);
    }
    free(blocks);
    rf_runs_free(runs, n);
    return st;
}
