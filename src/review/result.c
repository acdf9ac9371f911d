/* result.c - kinds, cohesion and order; reading a review back */
#include "review/reviewing.h"

#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_CHANCE 0.3 /* that it is of a known class, to be "probably known" */

static const char *const kind_names[] = {"group", "probably-known", "alone"};

/* ---- Groups ------------------------------------------------------------------------ */

/* As tight as a known class, and no other texts near: 1. */
static double cohesion_of(const rf_reviewing *r, size_t k)
{
    double width = r->within - r->between;
    double tight = width > 0.0 ? (r->g.inside[k] - r->between) / width : 1.0;
    tight = tight < 0.0 ? 0.0 : tight > 1.0 ? 1.0 : tight;
    return tight * r->g.apart[k];
}

rf_status rf_review_list_groups(rf_groups *lists, const uint32_t *group, size_t n,
                                size_t groups, rf_error *err)
{
    uint32_t *of = malloc((n + 1) * sizeof *of);
    if (!of)
        return rf_fail_nomem(err, n * sizeof *of, "lists of texts");
    for (size_t i = 0; i < n; i++)
        of[i] = group[i] == RF_NO_GROUP ? (uint32_t)groups : group[i];
    rf_status st = rf_groups_init(lists, of, n, groups + 1, err);
    free(of);
    return st;
}

/* The class that most texts of a group would have; of two the first. counts [classes] are
 * zeroes, and zeroes again afterwards. */
static void find_nearest(const rf_reviewing *r, const uint32_t *texts, size_t n,
                         uint32_t *counts, rf_review_group *g)
{
    g->nearest = rf_questioned_at(r, texts[0])->class_index;
    for (size_t i = 0; i < n; i++)
        counts[rf_questioned_at(r, texts[i])->class_index]++;
    for (size_t i = 0; i < n; i++) {
        size_t c = rf_questioned_at(r, texts[i])->class_index;
        if (counts[c] > counts[g->nearest] ||
            (counts[c] == counts[g->nearest] && c < g->nearest))
            g->nearest = c;
    }
    g->n_nearest = counts[g->nearest];
    for (size_t i = 0; i < n; i++)
        counts[rf_questioned_at(r, texts[i])->class_index] = 0;
}

static rf_status find_all_nearest(rf_reviewing *r, rf_review_group *groups)
{
    rf_groups lists = {0};
    uint32_t *counts = calloc(r->model->classes + 1, sizeof *counts);
    rf_status st =
        counts ? rf_review_list_groups(&lists, r->group_of, r->n, r->g.groups, r->err)
               : rf_fail_nomem(r->err, r->model->classes * sizeof *counts,
                               "classes of a group");
    for (size_t k = 0; k < r->g.groups && st == RF_OK; k++)
        find_nearest(r, rf_groups_at(&lists, k), rf_groups_size(&lists, k), counts,
                     &groups[k]);
    rf_groups_release(&lists);
    free(counts);
    return st;
}

typedef struct ranked {
    double worth;
    size_t count;
    uint32_t group;
} ranked;

static int by_worth(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

/* Gives groups their final numbers, the most worthwhile first. */
static rf_status rank_groups(rf_reviewing *r, const size_t *copies)
{
    size_t n = r->g.groups;
    rf_review_group *groups = calloc(n + 1, sizeof *groups);
    ranked *order = calloc(n + 1, sizeof *order);
    uint32_t *number = calloc(n + 1, sizeof *number);
    r->out->groups = calloc(n + 1, sizeof *groups);
    r->out->names = calloc(n + 1, sizeof *r->out->names);
    rf_status st = groups && order && number && r->out->groups && r->out->names
                       ? find_all_nearest(r, groups)
                       : rf_fail_nomem(r->err, n * sizeof *groups, "groups");
    for (size_t i = 0; i < r->n && st == RF_OK; i++)
        if (r->group_of[i] != RF_NO_GROUP)
            groups[r->group_of[i]].count += copies[i];
    for (uint32_t k = 0; k < n && st == RF_OK; k++) {
        groups[k].n_texts = r->g.size[k];
        groups[k].cohesion = cohesion_of(r, k);
        groups[k].worth = (double)groups[k].count * groups[k].cohesion;
        order[k] = (ranked){groups[k].worth, groups[k].count, k};
    }
    if (st == RF_OK) {
        qsort(order, n, sizeof *order, by_worth);
        for (uint32_t k = 0; k < n; k++) {
            number[order[k].group] = k;
            r->out->groups[k] = groups[order[k].group];
        }
        for (size_t i = 0; i < r->n; i++)
            if (r->group_of[i] != RF_NO_GROUP)
                r->group_of[i] = number[r->group_of[i]];
        r->out->n_groups = n;
        st = rf_review_names(r->model, r->out->data, r->group_of, n, r->out->names,
                             r->err);
    }
    for (size_t k = 0; k < n && st == RF_OK; k++)
        r->out->groups[k].name = r->out->names[k];
    free(groups);
    free(order);
    free(number);
    return st;
}

/* ---- Texts ------------------------------------------------------------------------- */

static double known_chance(const rf_questioned *q)
{
    return q->rejected ? 1.0 - (double)q->confidence : (double)q->confidence;
}

static rf_review_kind kind_of(const rf_reviewing *r, size_t i)
{
    if (r->group_of[i] != RF_NO_GROUP)
        return RF_REVIEW_GROUP;
    bool near = (double)r->fit_of[i] >= r->out->summary.level && !r->empty[i];
    return near && known_chance(rf_questioned_at(r, i)) >= KNOWN_CHANCE ? RF_REVIEW_KNOWN
                                                                        : RF_REVIEW_ALONE;
}

static int by_kind(const void *a, const void *b)
{
    const rf_review_text *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->kind == RF_REVIEW_ALONE && x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->kind != RF_REVIEW_ALONE && x->fit != y->fit)
        return x->fit > y->fit ? -1 : 1;
    return x->rows[0] < y->rows[0] ? -1 : x->rows[0] > y->rows[0];
}

/* Places of the rows of each text: those of text i end where those of i + 1 begin. */
static void list_rows(rf_reviewing *r, const size_t *copies, size_t *place)
{
    size_t at = 0;
    for (size_t i = 0; i < r->n; i++) {
        place[i] = at;
        at += copies[i];
    }
    for (size_t i = 0; i < r->n; i++)
        r->out->rows[place[r->same[i]]++] = rf_questioned_at(r, i)->row;
    for (size_t i = 0; i < r->n; i++)
        place[i] -= copies[i];
}

static void fill_texts(rf_reviewing *r, const size_t *copies, const size_t *place)
{
    rf_review *out = r->out;
    for (size_t i = 0; i < r->n; i++) {
        if (r->same[i] != i)
            continue;
        const rf_questioned *q = rf_questioned_at(r, i);
        const rf_row *row = rf_dataset_row(out->data, i);
        rf_review_text *t = &out->texts[out->n++];
        *t = (rf_review_text){.text = row->text,
                              .len = row->len,
                              .rows = out->rows + place[i],
                              .count = copies[i],
                              .kind = kind_of(r, i),
                              .group = SIZE_MAX,
                              .class_index = q->class_index,
                              .rejected = q->rejected,
                              .margin = q->margin,
                              .confidence = q->confidence,
                              .fit = (double)r->fit_of[i]};
        if (t->kind == RF_REVIEW_GROUP)
            t->group = r->group_of[i];
    }
    qsort(out->texts, out->n, sizeof *out->texts, by_kind);
    for (size_t i = out->n; i-- > 0;)
        if (out->texts[i].kind == RF_REVIEW_GROUP)
            out->groups[out->texts[i].group].first = i;
}

static void sum_up(rf_review *out)
{
    rf_review_summary *s = &out->summary;
    s->different = out->n;
    for (size_t i = 0; i < out->n; i++) {
        s->in_groups += out->texts[i].kind == RF_REVIEW_GROUP;
        s->known += out->texts[i].kind == RF_REVIEW_KNOWN;
        s->alone += out->texts[i].kind == RF_REVIEW_ALONE;
    }
}

rf_status rf_reviewing_conclude(rf_reviewing *r)
{
    size_t *copies = calloc(r->n + 1, sizeof *copies);
    size_t *place = calloc(r->n + 1, sizeof *place);
    r->out->rows = calloc(r->n + 1, sizeof *r->out->rows);
    r->out->texts = calloc(r->n + 1, sizeof *r->out->texts);
    rf_status st = RF_OK;
    if (!copies || !place || !r->out->rows || !r->out->texts)
        st = rf_fail_nomem(r->err, r->n * sizeof *r->out->texts, "the review");
    for (size_t i = 0; i < r->n && st == RF_OK; i++)
        copies[r->same[i]]++;
    if (st == RF_OK)
        st = rank_groups(r, copies);
    if (st == RF_OK) {
        list_rows(r, copies, place);
        fill_texts(r, copies, place);
        sum_up(r->out);
    }
    free(copies);
    free(place);
    return st;
}

/* ---- Reading back ------------------------------------------------------------------ */

void rf_review_free(rf_review *review)
{
    if (!review)
        return;
    rf_dataset_free(review->data);
    free(review->rows);
    free(review->texts);
    free(review->groups);
    free(review->names);
    free(review);
}

rf_review_summary rf_review_summarize(const rf_review *review)
{
    return review->summary;
}

const rf_model *rf_review_model(const rf_review *review)
{
    return review->model;
}

size_t rf_review_groups(const rf_review *review)
{
    return review->n_groups;
}

const rf_review_group *rf_review_group_at(const rf_review *review, size_t group)
{
    return group < review->n_groups ? &review->groups[group] : NULL;
}

size_t rf_review_size(const rf_review *review)
{
    return review->n;
}

const rf_review_text *rf_review_text_at(const rf_review *review, size_t i)
{
    return i < review->n ? &review->texts[i] : NULL;
}

const char *rf_review_kind_name(size_t kind)
{
    return kind < sizeof kind_names / sizeof *kind_names ? kind_names[kind] : NULL;
}

rf_status rf_review_add_rows(const rf_review *review, size_t group, const char *label,
                             rf_dataset *rows, rf_error *err)
{
    const rf_review_group *g = rf_review_group_at(review, group);
    rf_status st = RF_OK;
    if (!g)
        return rf_fail(err, RF_ERR_ARG, 0, "there is no group %zu, found %zu groups",
                       group, review->n_groups);
    for (size_t i = g->first; i < g->first + g->n_texts && st == RF_OK; i++)
        st = rf_dataset_add(rows, review->texts[i].text, review->texts[i].len, label,
                            strlen(label), err);
    return st;
}
