/* two_topics.c - divides each class by two means and compares the gap */
#include "check/two_topics.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS 20  /* of a class */
#define MOST_ROWS 200  /* that decide, evenly spaced */
#define CLOUDS 12      /* to compare with */
#define STEPS 20       /* of the axis, and of the means, at most */
#define LEAST_PART 0.2 /* of the class, in its smaller group */
/* Chosen on oos and banking with pairs of classes merged (docs/RESULTS.md). */
#define LEAST_GAP 2.0      /* times that of a cloud */
#define LEAST_DISTANCE 1.0 /* times that to the nearest other class */

/* Working memory of a thread. */
typedef struct division {
    size_t n, d;
    float *x;      /* [MOST_ROWS, d] rows less their mean */
    float *cloud;  /* [MOST_ROWS, d] */
    float *mean;   /* [2, d] of the two groups */
    float *axis;   /* [d] */
    float *origin; /* [d] the mean of the rows */
    bool *second;  /* [MOST_ROWS] */
} division;

/* ---- Two means --------------------------------------------------------------------- */

static double dot(const float *a, const float *b, size_t d)
{
    float sum[8] = {0};
    size_t j = 0;
    for (; j + 8 <= d; j += 8)
        for (size_t k = 0; k < 8; k++)
            sum[k] += a[j + k] * b[j + k];
    for (; j < d; j++)
        sum[0] += a[j] * b[j];
    return (double)(sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] +
                    sum[7]);
}

/* The longest axis of rows x, by power iteration from the longest row. */
static void find_axis(division *v, const float *x)
{
    size_t longest = 0;
    double most = -1.0;
    for (size_t i = 0; i < v->n; i++) {
        double square = dot(x + i * v->d, x + i * v->d, v->d);
        if (square > most) {
            most = square;
            longest = i;
        }
    }
    memcpy(v->axis, x + longest * v->d, v->d * sizeof *v->axis);
    for (size_t step = 0; step < STEPS; step++) {
        float *next = v->mean; /* free until then */
        memset(next, 0, v->d * sizeof *next);
        for (size_t i = 0; i < v->n; i++) {
            float a = (float)dot(x + i * v->d, v->axis, v->d);
            for (size_t j = 0; j < v->d; j++)
                next[j] += a * x[i * v->d + j];
        }
        rf_rows_normalise(v->axis, next, 1, v->d);
    }
}

/* The means of the two groups. */
static void find_means(division *v, const float *x)
{
    size_t size[2] = {0};
    memset(v->mean, 0, 2 * v->d * sizeof *v->mean);
    for (size_t i = 0; i < v->n; i++) {
        float *mean = v->mean + v->second[i] * v->d;
        size[v->second[i]]++;
        for (size_t j = 0; j < v->d; j++)
            mean[j] += x[i * v->d + j];
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t j = 0; j < v->d && size[k] > 0; j++)
            v->mean[k * v->d + j] /= (float)size[k];
}

/* How far the two means are apart, in standard deviations of the rows about their own
 * mean along the line through both. */
static double gap_between(division *v, const float *x)
{
    double square = 0.0, length = rf_distance(v->mean, v->mean + v->d, v->d);
    for (size_t j = 0; j < v->d; j++)
        v->axis[j] = v->mean[v->d + j] - v->mean[j];
    rf_rows_normalise(v->axis, v->axis, 1, v->d);
    double at[2] = {dot(v->mean, v->axis, v->d), dot(v->mean + v->d, v->axis, v->d)};
    for (size_t i = 0; i < v->n; i++) {
        double away = dot(x + i * v->d, v->axis, v->d) - at[v->second[i]];
        square += away * away;
    }
    double least = 1e-3 * length; /* of copies */
    double deviation = sqrt(square / (double)v->n);
    return length > 0.0 ? length / (deviation > least ? deviation : least) : 0.0;
}

/* Divides rows x; returns the gap. */
static double divide(division *v, const float *x)
{
    size_t moved = 1;
    find_axis(v, x);
    for (size_t i = 0; i < v->n; i++)
        v->second[i] = dot(x + i * v->d, v->axis, v->d) > 0.0;
    find_means(v, x);
    for (size_t step = 0; step < STEPS && moved > 0; step++) {
        double a = dot(v->mean, v->mean, v->d);
        double b = dot(v->mean + v->d, v->mean + v->d, v->d);
        moved = 0;
        for (size_t i = 0; i < v->n; i++) {
            const float *row = x + i * v->d;
            bool to = dot(row, v->mean + v->d, v->d) - 0.5 * b >
                      dot(row, v->mean, v->d) - 0.5 * a;
            moved += to != v->second[i];
            v->second[i] = to;
        }
        find_means(v, x);
    }
    return gap_between(v, x);
}

/* ---- Clouds ------------------------------------------------------------------------ */

/* Rows with the covariance of x and no groups: each is the sum of all rows of x with
 * random signs, nearly normal by the central limit theorem; less their mean. */
static void make_cloud(division *v, size_t class, size_t number)
{
    rf_rng r = rf_rng_open(rf_stream_key(0, RF_STREAM_CHECK_CLOUDS, class, number));
    float scale = 1.0f / sqrtf((float)v->n);
    size_t d = v->d;
    for (size_t i = 0; i < v->n; i++) {
        float *row = v->cloud + i * d;
        memset(row, 0, d * sizeof *row);
        for (size_t k = 0; k < v->n; k++) {
            float sign = rf_rng_next(&r) >> 63 ? scale : -scale;
            for (size_t j = 0; j < d; j++)
                row[j] += sign * v->x[k * d + j];
        }
    }
}

static void centre(float *x, size_t n, size_t d, float *mean)
{
    memset(mean, 0, d * sizeof *mean);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            mean[j] += x[i * d + j] / (float)n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            x[i * d + j] -= mean[j];
}

/* The mean gap of clouds of the shape of x. */
static double usual_gap(division *v, size_t class)
{
    double sum = 0.0;
    for (size_t i = 0; i < CLOUDS; i++) {
        make_cloud(v, class, i);
        centre(v->cloud, v->n, v->d, v->axis);
        sum += divide(v, v->cloud);
    }
    return sum / CLOUDS;
}

/* ---- Classes ----------------------------------------------------------------------- */

typedef struct work {
    const rf_encoded *e;
    rf_groups by_class;
    float *means; /* [classes, d] of rows of unit length */
    division *threads;
    rf_topics *topics;
    bool *side;
} work;

static void class_mean(const work *w, size_t class, float *mean, float *unit)
{
    const uint32_t *rows = rf_groups_at(&w->by_class, class);
    size_t n = rf_groups_size(&w->by_class, class), d = w->e->width;
    memset(mean, 0, d * sizeof *mean);
    for (size_t i = 0; i < n; i++) {
        rf_rows_normalise(unit, w->e->z + rows[i] * d, 1, d);
        for (size_t j = 0; j < d; j++)
            mean[j] += unit[j] / (float)n;
    }
}

/* Takes up to MOST_ROWS rows of a class, evenly spaced. */
static void take_rows(division *v, const work *w, size_t class)
{
    const uint32_t *rows = rf_groups_at(&w->by_class, class);
    size_t all = rf_groups_size(&w->by_class, class);
    v->n = all < MOST_ROWS ? all : MOST_ROWS;
    for (size_t i = 0; i < v->n; i++)
        rf_rows_normalise(v->x + i * v->d, w->e->z + rows[i * all / v->n] * v->d, 1,
                          v->d);
    centre(v->x, v->n, v->d, v->origin);
}

/* Every row of the class goes to the nearer mean; side marks the smaller group, whose
 * size is returned. */
static size_t assign_rows(division *v, const work *w, size_t class)
{
    const uint32_t *rows = rf_groups_at(&w->by_class, class);
    size_t n = rf_groups_size(&w->by_class, class), second = 0;
    for (size_t i = 0; i < n; i++) {
        float *x = v->cloud; /* free until there are clouds */
        rf_rows_normalise(x, w->e->z + rows[i] * v->d, 1, v->d);
        for (size_t j = 0; j < v->d; j++)
            x[j] -= v->origin[j];
        w->side[rows[i]] =
            rf_distance(x, v->mean + v->d, v->d) < rf_distance(x, v->mean, v->d);
        second += w->side[rows[i]];
    }
    for (size_t i = 0; i < n && second > n - second; i++)
        w->side[rows[i]] = !w->side[rows[i]];
    return second > n - second ? n - second : second;
}

/* The distance between the two means, by that from either to the nearest other class,
 * whichever is larger. */
static double distance_of(division *v, const work *w, size_t class)
{
    double near[2] = {INFINITY, INFINITY};
    double apart = rf_distance(v->mean, v->mean + v->d, v->d);
    for (size_t k = 0; k < w->e->classes; k++)
        for (size_t half = 0; k != class && half < 2; half++) {
            float *x = v->cloud; /* the mean, no longer less the origin */
            for (size_t j = 0; j < v->d; j++)
                x[j] = v->mean[half * v->d + j] + v->origin[j];
            double far = rf_distance(x, w->means + k * v->d, v->d);
            near[half] = far < near[half] ? far : near[half];
        }
    if (w->e->classes < 2)
        return INFINITY; /* there is nothing to be nearer to */
    double nearest = near[0] > near[1] ? near[0] : near[1];
    return nearest > 0.0 ? apart / nearest : 0.0;
}

static void measure_class(division *v, const work *w, size_t class)
{
    rf_topics *t = &w->topics[class];
    *t = (rf_topics){.rows = rf_groups_size(&w->by_class, class)};
    if (t->rows < LEAST_ROWS)
        return;
    take_rows(v, w, class);
    double gap = divide(v, v->x);
    t->smaller = assign_rows(v, w, class);
    t->distance = distance_of(v, w, class);
    double usual = usual_gap(v, class);
    t->gap = usual > 0.0 ? gap / usual : 0.0;
}

static void measure_some(void *arg, size_t member, size_t members)
{
    const work *w = arg;
    for (size_t k = member; k < w->e->classes; k += members)
        measure_class(&w->threads[member], w, k);
}

static rf_status divisions_new(work *w, size_t threads, rf_error *err)
{
    size_t d = w->e->width, floats = (2 * MOST_ROWS + 4) * d;
    w->threads = calloc(threads, sizeof *w->threads);
    for (size_t i = 0; w->threads && i < threads; i++) {
        division *v = &w->threads[i];
        v->d = d;
        v->x = rf_floats_new(floats);
        v->second = calloc(MOST_ROWS, sizeof *v->second);
        if (!v->x || !v->second)
            return rf_fail_nomem(err, floats * sizeof *v->x, "two topics");
        v->cloud = v->x + MOST_ROWS * d;
        v->mean = v->cloud + MOST_ROWS * d;
        v->axis = v->mean + 2 * d;
        v->origin = v->axis + d;
    }
    return w->threads ? RF_OK
                      : rf_fail_nomem(err, threads * sizeof *w->threads, "two topics");
}

static void divisions_free(division *threads, size_t n)
{
    for (size_t i = 0; threads && i < n; i++) {
        free(threads[i].x);
        free(threads[i].second);
    }
    free(threads);
}

static rf_status measure_means(work *w, rf_error *err)
{
    size_t d = w->e->width, floats;
    if (!rf_size_mul(w->e->classes + 1, d, &floats))
        floats = SIZE_MAX / 8;
    w->means = rf_floats_new(floats); /* and room for one row */
    if (!w->means)
        return rf_fail_nomem(err, floats * sizeof *w->means, "two topics");
    for (size_t k = 0; k < w->e->classes; k++)
        class_mean(w, k, w->means + k * d, w->means + w->e->classes * d);
    return RF_OK;
}

rf_status rf_two_topics(const rf_encoded *e, rf_team *team, rf_topics *topics, bool *side,
                        rf_error *err)
{
    work w = {.e = e, .topics = topics, .side = side};
    memset(side, 0, e->n * sizeof *side);
    rf_status st = rf_groups_init(&w.by_class, e->class_of, e->n, e->classes, err);
    if (st == RF_OK)
        st = measure_means(&w, err);
    if (st == RF_OK)
        st = divisions_new(&w, rf_team_size(team), err);
    if (st == RF_OK)
        rf_team_run(team, measure_some, &w);
    divisions_free(w.threads, rf_team_size(team));
    rf_groups_release(&w.by_class);
    free(w.means);
    return st;
}

/* ---- What was found ---------------------------------------------------------------- */

static rf_status report(const rf_checked *c, const rf_encoded *e, size_t class,
                        const rf_topics *t, const bool *side, rf_error *err)
{
    size_t n = 0;
    uint32_t *rows = calloc(t->rows + 1, sizeof *rows);
    if (!rows)
        return rf_fail_nomem(err, t->rows * sizeof *rows, "two topics");
    for (int part = 0; part < 2; part++) /* the larger group first */
        for (size_t i = 0; i < e->n; i++)
            if (e->class_of[i] == class && side[i] == part)
                rows[n++] = e->rows[i];
    rf_finding finding = rf_finding_of(RF_FINDING_TWO_TOPICS);
    finding.class_index = e->class_at[class];
    finding.n_rows = n;
    finding.n_good = n - t->smaller;
    finding.score = t->gap;
    rf_status st = rf_findings_add(
        c, finding, rows, err,
        "class \"%.100s\" seems to be two groups of texts, %zu and %zu",
        rf_dataset_label(c->data, finding.class_index, NULL), n - t->smaller, t->smaller);
    free(rows);
    return st;
}

rf_status rf_two_topics_report(const rf_checked *c, const rf_encoded *e, rf_error *err)
{
    rf_topics *topics = calloc(e->classes + 1, sizeof *topics);
    bool *side = calloc(e->n + 1, sizeof *side);
    rf_status st = topics && side ? rf_two_topics(e, c->team, topics, side, err)
                                  : rf_fail_nomem(err, e->n, "two topics");
    for (size_t k = 0; k < e->classes && st == RF_OK; k++) {
        const rf_topics *t = &topics[k];
        if (t->gap >= LEAST_GAP && t->distance >= LEAST_DISTANCE &&
            (double)t->smaller >= LEAST_PART * (double)t->rows)
            st = report(c, e, k, t, side, err);
    }
    free(topics);
    free(side);
    return st;
}
