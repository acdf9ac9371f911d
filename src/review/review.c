/* review.c - rf_review_texts: answers, copies, groups, names, result */
#include "base/options.h"
#include "num/vectors.h"
#include "review/reviewing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define DOUBT 0.6
#define MIN_TEXTS 5
#define AT_ONCE 2048 /* texts between two reports of progress */

void rf_review_options_init(rf_review_options *options, size_t struct_size)
{
    const rf_review_options defaults = {0};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

rf_status rf_reviewing_progress(rf_reviewing *r, const char *fmt, ...)
{
    char line[128];
    va_list ap;
    if (!r->o.progress)
        return RF_OK;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    return r->o.progress(r->o.user, line) == 0
               ? RF_OK
               : rf_fail(r->err, RF_ERR_STOPPED, 0, "the review was stopped");
}

/* ---- Answers ----------------------------------------------------------------------- */

static rf_status keep_doubtful(void *user, const rf_decision *d, rf_error *err)
{
    rf_reviewing *r = user;
    rf_review_summary *s = &r->out->summary;
    size_t row = r->n_answered++, bytes = r->model->known.width * sizeof(float);
    bool rejected = d->class_index == RF_OPEN;
    s->rejected += rejected;
    if (!rejected && !((double)d->confidence < r->o.doubt))
        return RF_OK;
    s->doubtful += !rejected;
    const rf_questioned q = {row, (uint32_t)(rejected ? d->margin_class : d->class_index),
                             d->margin, d->confidence, rejected};
    rf_status st = rf_buffer_add(&r->questioned, &q, sizeof q, err);
    if (st == RF_OK)
        st = rf_buffer_add(&r->features, d->feature, bytes, err);
    if (st != RF_OK)
        return st;
    float *x = rf_reviewing_feature(r, r->n++);
    rf_rows_normalise(x, x, 1, r->model->known.width);
    return RF_OK;
}

static rf_status answer(rf_reviewing *r, const char *const *texts, const size_t *lens)
{
    rf_session *session = rf_session_new(r->model, r->o.threads, r->err);
    rf_status st = session ? RF_OK : r->err->code;
    for (size_t from = 0; from < r->n_texts && st == RF_OK; from += AT_ONCE) {
        size_t n = r->n_texts - from < AT_ONCE ? r->n_texts - from : AT_ONCE;
        st = rf_reviewing_progress(r, "classifying: %zu of %zu texts", from, r->n_texts);
        if (st == RF_OK)
            st = rf_classify_all(session, texts + from, lens + from, n, keep_doubtful, r,
                                 r->err);
    }
    rf_session_free(session);
    return st;
}

/* Copies of the texts in question. */
static rf_status keep_texts(rf_reviewing *r, const char *const *texts, const size_t *lens)
{
    rf_status st = RF_OK;
    r->out->data = rf_dataset_new(r->err);
    if (!r->out->data)
        return r->err->code;
    for (size_t i = 0; i < r->n && st == RF_OK; i++) {
        size_t row = rf_questioned_at(r, i)->row;
        st = rf_dataset_add(r->out->data, texts[row], lens[row], "open", 4, r->err);
    }
    return st;
}

/* ---- Groups ------------------------------------------------------------------------ */

/* The features of the different texts, in their order, at the front. */
static void gather(rf_reviewing *r)
{
    size_t d = r->model->known.width;
    for (size_t p = 0; p < r->points; p++) {
        const float *from = rf_reviewing_feature(r, r->point[p]);
        float *to = rf_reviewing_feature(r, p);
        for (size_t j = 0; j < d && to != from; j++)
            to[j] = from[j];
    }
}

/* Features of texts that are not grouped are no longer there afterwards, so what they are
 * needed for comes first: how well each fits the class that it would have. */
static rf_status group_texts(rf_reviewing *r)
{
    rf_review_summary *s = &r->out->summary;
    r->group_of = malloc((r->n + 1) * sizeof *r->group_of);
    r->fit_of = calloc(r->n + 1, sizeof *r->fit_of);
    if (!r->group_of || !r->fit_of)
        return rf_fail_nomem(r->err, r->n * sizeof *r->group_of, "groups");
    for (size_t i = 0; i < r->n; i++) {
        r->group_of[i] = RF_NO_GROUP;
        r->fit_of[i] = (float)rf_class_similarity(&r->model->stats,
                                                  rf_questioned_at(r, i)->class_index,
                                                  rf_reviewing_feature(r, i));
    }
    rf_class_scale(&r->model->stats, &r->within, &r->between);
    s->level = rf_class_level(r->within, r->between);
    gather(r);
    if (r->points == 0)
        return RF_OK;
    rf_status st = rf_grouping_make(&r->g, rf_reviewing_feature(r, 0), r->points,
                                    r->model->known.width, s->level, r->o.min_texts,
                                    r->team, r->err);
    for (size_t p = 0; p < r->points && st == RF_OK; p++) {
        r->group_of[r->point[p]] = r->g.group[p];
        if (r->g.group[p] != RF_NO_GROUP)
            r->fit_of[r->point[p]] = r->g.fit[p];
    }
    return st;
}

/* ---- All of it --------------------------------------------------------------------- */

static rf_status prepare(rf_reviewing *r, const rf_review_options *options)
{
    rf_review_options *o = &r->o;
    rf_status st = rf_options_take(o, sizeof *o, options, "rf_review_options", r->err);
    if (st != RF_OK)
        return st;
    o->doubt = o->doubt == 0.0 ? DOUBT : o->doubt;
    o->min_texts = o->min_texts ? o->min_texts : MIN_TEXTS;
    if (!(o->doubt <= 1.0))
        return rf_fail(r->err, RF_ERR_ARG, 0, "doubt is %g, wanted at most 1", o->doubt);
    if (o->min_texts < 2)
        return rf_fail(r->err, RF_ERR_ARG, 0,
                       "groups of %zu text, wanted at least 2 texts", o->min_texts);
    if (o->threads > RF_MAX_THREADS)
        return rf_fail(r->err, RF_ERR_ARG, 0, "%zu threads, wanted at most %d",
                       o->threads, RF_MAX_THREADS);
    if (r->n_texts >= UINT32_MAX)
        return rf_fail(r->err, RF_ERR_LIMIT, 0, "%zu texts, wanted fewer than %zu",
                       r->n_texts, (size_t)UINT32_MAX);
    rf_buffer_init(&r->questioned, SIZE_MAX / 4, "texts to review");
    rf_buffer_init(&r->features, SIZE_MAX / 4, "features to review");
    r->out = calloc(1, sizeof *r->out);
    if (!r->out)
        return rf_fail_nomem(r->err, sizeof *r->out, "a review");
    r->out->model = r->model;
    r->out->summary.texts = r->n_texts;
    size_t threads = o->threads ? o->threads : rf_cpu_count();
    r->team = rf_team_new(threads < RF_MAX_THREADS ? threads : RF_MAX_THREADS, r->err);
    return r->team ? RF_OK : r->err->code;
}

static rf_status run(rf_reviewing *r, const char *const *texts, const size_t *lens)
{
    rf_status st = answer(r, texts, lens);
    if (st == RF_OK)
        st = keep_texts(r, texts, lens);
    if (st == RF_OK)
        st = rf_reviewing_progress(r, "looking for copies among %zu texts", r->n);
    if (st == RF_OK)
        st = rf_reviewing_find_copies(r);
    if (st == RF_OK)
        st = rf_reviewing_progress(r, "grouping %zu texts", r->points);
    if (st == RF_OK)
        st = group_texts(r);
    return st == RF_OK ? rf_reviewing_conclude(r) : st;
}

rf_review *rf_review_texts(const rf_model *model, const char *const *texts,
                           const size_t *lens, size_t n, const rf_review_options *options,
                           rf_error *err)
{
    rf_error local = {0};
    rf_reviewing r = {.model = model, .n_texts = n, .err = err ? err : &local};
    rf_status st = prepare(&r, options);
    if (st == RF_OK)
        st = run(&r, texts, lens);
    rf_buffer_release(&r.questioned);
    rf_buffer_release(&r.features);
    rf_grouping_release(&r.g);
    rf_team_free(r.team);
    free(r.same);
    free(r.empty);
    free(r.point);
    free(r.group_of);
    free(r.fit_of);
    if (st == RF_OK)
        return r.out;
    rf_review_free(r.out);
    return NULL;
}
