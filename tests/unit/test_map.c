/*
 * test_map.c - the map of a model: training against a direct call of t-SNE, the choice of
 * rows against the rule, places of new features against plain loops in double. Damaged
 * maps in files: test_bad_model.c.
 */
#include "stages/draw_map.h"
#include "model_place.h"
#include "sealed.h"
#include "tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Half precision by its definition; finite here. */
static double half(uint16_t h)
{
    int exponent = h >> 10 & 0x1f;
    double x = exponent ? ldexp(1.0 + (h & 0x3ff) / 1024.0, exponent - 15)
                        : ldexp((h & 0x3ff) / 1024.0, -14);
    return h & 0x8000 ? -x : x;
}

static void feature_of(const rf_model *m, size_t row, float *z)
{
    for (size_t j = 0; j < m->known.width; j++)
        z[j] = (float)half(m->features[row * m->known.width + j]);
}

/* ---- Training ---------------------------------------------------------------------- */

/* Three classes that share some words: class c has `each` + 10 c texts. */
static rf_dataset *make_data(size_t each)
{
    static const char *const words[3] = {"refund", "where", "hello"};
    rf_dataset *data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < each + 10 * c; i++) {
            char text[64], label[8];
            int n = snprintf(text, sizeof text, "please %s my order %zu", words[c], i);
            int k = snprintf(label, sizeof label, "c%zu", c);
            assert_int_equal(
                rf_dataset_add(data, text, (size_t)n, label, (size_t)k, NULL), RF_OK);
        }
    return data;
}

static rf_train_options quick(void)
{
    rf_train_options o = rf_train_options_default();
    assert_int_equal(o.map_points, 4000);
    o.encoder = TINY "encoder";
    o.threads = 1;
    o.settings = "epochs=2 batch=8 head_steps=2";
    o.dev_share = -1.0;
    return o;
}

static rf_model *train(const rf_dataset *data, const rf_train_options *o)
{
    rf_error err = {0};
    rf_model *m = rf_train(data, NULL, o, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

static bool same_map(const rf_model *a, const rf_model *b)
{
    return a->map_n == b->map_n &&
           memcmp(a->map_rows, b->map_rows, a->map_n * sizeof *a->map_rows) == 0 &&
           memcmp(a->map_xy, b->map_xy, 2 * a->map_n * sizeof *a->map_xy) == 0;
}

/* t-SNE of the rows of the map, as the model keeps them, by one thread. */
static void assert_drawn(const rf_model *m, uint64_t seed)
{
    size_t n = m->map_n, width = m->known.width;
    rf_tsne_options o = rf_tsne_options_default();
    rf_error err = {0};
    rf_team *team = rf_team_new(1, NULL);
    float *x = malloc(n * width * sizeof *x);
    double *map = malloc(2 * n * sizeof *map), most = 0;
    assert_true(team && x && map);
    for (size_t i = 0; i < n; i++)
        feature_of(m, (size_t)m->map_rows[i], x + i * width);
    o.seed = seed;
    if (rf_tsne(map, x, n, width, &o, team, &err) != RF_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < 2 * n; i++)
        most = fabs(map[i]) > most ? fabs(map[i]) : most;
    double largest = 0, centre[2] = {0};
    for (size_t i = 0; i < 2 * n; i++) {
        assert_true(m->map_xy[i] == (most > 0 ? (float)(map[i] / most) : 0.0f));
        largest = fmax(largest, fabs((double)m->map_xy[i]));
        centre[i % 2] += (double)m->map_xy[i] / (double)n;
    }
    assert_true(largest == (most > 0 ? 1.0 : 0.0));
    assert_true(fabs(centre[0]) < 1e-6 && fabs(centre[1]) < 1e-6);
    free(map);
    free(x);
    rf_team_free(team);
}

static void training_draws_the_map(void **state)
{
    (void)state;
    rf_dataset *data = make_data(30);
    rf_train_options o = quick();
    for (int sampled = 0; sampled <= 1; sampled++) {
        o.seed = 5;
        o.threads = 1;
        o.map_points = sampled ? 50 : 4000;
        rf_model *want = train(data, &o);
        assert_int_equal(want->n_rows, 120);
        assert_int_equal(want->map_n, sampled ? 50 : 120);
        assert_drawn(want, 5);
        for (o.threads = 2; o.threads <= 3; o.threads++) {
            rf_model *got = train(data, &o);
            assert_true(same_map(want, got));
            rf_model_free(got);
        }
        o.seed = 6; /* but this must matter */
        rf_model *got = train(data, &o);
        assert_false(same_map(want, got));
        rf_model_free(got);
        rf_model_free(want);
    }
    rf_dataset_free(data);
}

/* The map in the public interface. */
static void the_points(void **state)
{
    (void)state;
    rf_dataset *data = make_data(10);
    rf_train_options o = quick();
    o.map_points = 31;
    rf_model *m = train(data, &o);
    assert_int_equal(rf_model_map_size(m), 31);
    assert_non_null(strstr(rf_model_json(m), "\"map\":31"));
    for (size_t i = 0; i < 31; i++) {
        rf_map_point p = rf_model_map_point(m, i);
        size_t row = (size_t)m->map_rows[i], len;
        const char *text = rf_dataset_text(data, row, &len);
        assert_true(p.x == m->map_xy[2 * i] && p.y == m->map_xy[2 * i + 1]);
        assert_int_equal(p.class_index, rf_dataset_class(data, row));
        assert_int_equal(p.text_len, len);
        assert_memory_equal(p.text, text, len);
    }
    rf_model_free(m);
    rf_dataset_free(data);
}

static void no_map(void **state)
{
    (void)state;
    rf_dataset *data = make_data(4);
    rf_train_options o = quick();
    rf_error err = {0};
    float z[32] = {0}, x = 3.0f, y = 3.0f;
    o.map_points = -1;
    rf_model *m = train(data, &o);
    assert_int_equal(rf_model_map_size(m), 0);
    assert_non_null(strstr(rf_model_json(m), "\"map\":0"));
    assert_int_equal(rf_model_place(m, z, &x, &y, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "no map");
    assert_true(x == 0.0f && y == 0.0f);
    rf_model_free(m);
    o.map_points = 100001;
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_ARG, "map_points is 100001");
    rf_dataset_free(data);
}

/* One text, two, a few; different ones and all the same. */
static void tiny_data(void **state)
{
    (void)state;
    static const char *const words[] = {"order", "refund", "where", "hello",
                                        "ring",  "cancel", "thank", "please"};
    rf_train_options o = quick();
    for (size_t n = 1; n <= 8; n++)
        for (int equal = 0; equal <= 1; equal++) {
            rf_dataset *data = rf_dataset_new(NULL);
            for (size_t i = 0; i < n; i++) {
                const char *word = words[equal ? 0 : i];
                assert_int_equal(
                    rf_dataset_add(data, word, strlen(word), i % 2 ? "b" : "a", 1, NULL),
                    RF_OK);
            }
            rf_model *m = train(data, &o);
            float z[32], x, y;
            assert_int_equal(m->map_n, n);
            assert_drawn(m, o.seed);
            feature_of(m, 0, z);
            assert_int_equal(rf_model_place(m, z, &x, &y, NULL), RF_OK);
            assert_true(fabsf(x) <= 1.0f && fabsf(y) <= 1.0f);
            rf_model_free(m);
            rf_dataset_free(data);
        }
}

/* ---- Progress ---------------------------------------------------------------------- */

typedef struct watch {
    size_t stop_at; /* this many iterations */
    size_t events, done, total;
    bool other_after; /* a stage was reported after the map */
} watch;

static int on_progress(void *user, const rf_train_event *e)
{
    watch *w = user;
    if (e->stage != RF_STAGE_MAP) {
        w->other_after |= w->events > 0;
        return 0;
    }
    assert_true(w->events++ == 0 || e->done > w->done);
    w->done = e->done;
    w->total = e->total;
    return e->done >= w->stop_at;
}

static void progress_and_stop_requests(void **state)
{
    (void)state;
    char checkpoint[RF_PATH_MAX];
    rf_error err = {0};
    rf_dataset *data = make_data(6);
    rf_train_options o = quick();
    watch w = {.stop_at = SIZE_MAX};
    o.progress = on_progress;
    o.user = &w;
    rf_model *want = train(data, &o);
    assert_true(w.events > 10 && w.done == w.total && !w.other_after);
    w = (watch){.stop_at = w.total}; /* done: nothing left to stop */
    rf_model_free(train(data, &o));
    scratch_path(checkpoint, dir, "checkpoint");
    o.checkpoint = checkpoint;
    w = (watch){.stop_at = 500};
    assert_null(rf_train(data, NULL, &o, &err));
    assert_error(&err, RF_ERR_STOPPED, "map");
    assert_int_equal(w.done, 500);
    o.resume = true;
    w = (watch){.stop_at = SIZE_MAX};
    rf_model *got = train(data, &o);
    assert_true(same_map(want, got));
    rf_model_free(got);
    o.map_points = 10; /* not part of the identity of a checkpoint */
    w = (watch){.stop_at = SIZE_MAX};
    got = train(data, &o);
    assert_int_equal(got->map_n, 10);
    rf_model_free(got);
    rf_model_free(want);
    rf_dataset_free(data);
}

/* ---- The choice of rows ------------------------------------------------------------ */

enum { CLASSES = 5 };
static const size_t class_rows[CLASSES] = {40, 3, 12, 1, 29};

/* Rows of all classes in turn, until they run out. */
static rf_model *make_rows(void)
{
    static const char *const labels[] = {"a", "b", "c", "d", "e"};
    size_t given[CLASSES] = {0}, n = 0;
    rf_model *m = rf_model_new(NULL);
    assert_non_null(m);
    assert_int_equal(rf_model_set_labels(m, labels, CLASSES, NULL), RF_OK);
    m->row_class = malloc(85 * sizeof *m->row_class);
    assert_non_null(m->row_class);
    for (size_t i = 0; n < 85; i++)
        if (given[i % CLASSES] < class_rows[i % CLASSES]) {
            given[i % CLASSES]++;
            m->row_class[n++] = (int32_t)(i % CLASSES);
        }
    m->n_rows = n;
    return m;
}

/* A row for each class that has one left, in rounds. */
static void deal(size_t most, size_t least[CLASSES], size_t largest[CLASSES])
{
    size_t dealt = 0;
    memset(least, 0, CLASSES * sizeof *least);
    for (;;) {
        size_t round = 0;
        for (size_t c = 0; c < CLASSES; c++)
            round += least[c] < class_rows[c];
        for (size_t c = 0; c < CLASSES; c++)
            largest[c] = least[c] + (dealt < most && least[c] < class_rows[c]);
        if (round == 0 || dealt + round > most)
            return;
        memcpy(least, largest, CLASSES * sizeof *least);
        dealt += round;
    }
}

static void assert_fair(const rf_model *m, size_t most, uint64_t seed)
{
    size_t n = most < 85 ? most : 85;
    size_t got[CLASSES] = {0}, least[CLASSES], largest[CLASSES];
    int32_t rows[85], again[85];
    memset(rows, 0xff, sizeof rows);
    assert_int_equal(rf_draw_map_rows(m, most, seed, rows, NULL), RF_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(rows[i] >= 0 && rows[i] < 85 && (!i || rows[i] > rows[i - 1]));
        got[m->row_class[rows[i]]]++;
    }
    deal(most, least, largest);
    for (size_t c = 0; c < CLASSES; c++) {
        assert_in_range(got[c], least[c], largest[c]);
        assert_true(got[c] >= 1 || most < CLASSES);
    }
    assert_int_equal(rf_draw_map_rows(m, most, seed, again, NULL), RF_OK);
    assert_memory_equal(rows, again, n * sizeof *rows);
    assert_int_equal(rf_draw_map_rows(m, most, seed + 1, again, NULL), RF_OK);
    if (most >= 10 && most <= 60)
        assert_memory_not_equal(rows, again, n * sizeof *rows);
}

static void a_sample_fair_to_the_classes(void **state)
{
    (void)state;
    rf_model *m = make_rows();
    for (size_t most = 1; most <= 90; most++)
        for (uint64_t seed = 0; seed < 20; seed++)
            assert_fair(m, most, seed);
    rf_model_free(m);
}

/* Over many seeds all rows of a class are equally likely. */
static void every_row_can_be_chosen(void **state)
{
    (void)state;
    rf_model *m = make_rows();
    size_t times[85] = {0};
    int32_t rows[85];
    for (uint64_t seed = 0; seed < 400; seed++) {
        assert_int_equal(rf_draw_map_rows(m, 20, seed, rows, NULL), RF_OK);
        for (size_t i = 0; i < 20; i++)
            times[rows[i]]++;
    }
    for (size_t i = 0; i < 85; i++) { /* three classes give 5 or 6 of 40, 12 or 29 */
        double share = 16.0 / 3.0 / (double)class_rows[m->row_class[i]];
        double mean = 400.0 * share, wide = 5.0 * sqrt(mean);
        if (class_rows[m->row_class[i]] <= 3)
            assert_int_equal(times[i], 400);
        else
            assert_true(fabs((double)times[i] - mean) < wide);
    }
    rf_model_free(m);
}

/* ---- Places ------------------------------------------------------------------------ */

/* A model with only training rows, of this width, and a map. */
static rf_model *make_map(size_t width, size_t rows, size_t step)
{
    rf_model *m = rf_model_new(NULL);
    assert_non_null(m);
    m->known.width = width;
    m->classes = 6;
    tiny_model_keep(m, rows, true);
    tiny_model_map(m, step);
    return m;
}

typedef struct near {
    size_t n;
    double distance[5], x[5], y[5], weight[5];
} near;

/* The five nearest points of the map, by insertion, and their weights by the formula. */
static near nearest(const rf_model *m, const float *z)
{
    near out = {0};
    for (size_t i = 0; i < m->map_n; i++) {
        double sum = 0;
        const uint16_t *row = m->features + (size_t)m->map_rows[i] * m->known.width;
        for (size_t j = 0; j < m->known.width; j++)
            sum += (half(row[j]) - (double)z[j]) * (half(row[j]) - (double)z[j]);
        double d = sqrt(sum);
        size_t at = out.n < 5 ? out.n++ : 5;
        for (; at > 0 && d < out.distance[at - 1]; at--)
            if (at < 5) {
                out.distance[at] = out.distance[at - 1];
                out.x[at] = out.x[at - 1];
                out.y[at] = out.y[at - 1];
            }
        if (at < 5) {
            out.distance[at] = d;
            out.x[at] = (double)m->map_xy[2 * i];
            out.y[at] = (double)m->map_xy[2 * i + 1];
        }
    }
    for (size_t i = 0; i < out.n; i++) {
        double d = out.distance[i], last = out.distance[out.n - 1];
        out.weight[i] = exp(-4 * d * d / (last * last)) / (d * d);
    }
    return out;
}

static double cost(const near *p, double x, double y)
{
    double sum = 0;
    for (size_t i = 0; i < p->n; i++)
        sum += p->weight[i] *
               sqrt((p->x[i] - x) * (p->x[i] - x) + (p->y[i] - y) * (p->y[i] - y));
    return sum;
}

/* Minimises a convex function by pattern search with shrinking steps. */
static void least(const near *p, double *x, double *y)
{
    double best = cost(p, *x = 0, *y = 0);
    for (double reach = 1; reach > 1e-9; reach /= 2)
        for (bool moved = true; moved;) {
            moved = false;
            for (int side = 0; side < 16; side++) {
                double angle = side * acos(-1.0) / 8;
                double a = *x + reach * cos(angle), b = *y + reach * sin(angle);
                double c = cost(p, a, b);
                if (c < best) {
                    best = c;
                    *x = a;
                    *y = b;
                    moved = true;
                }
            }
        }
}

/* How strongly the others pull at point i. */
static double pull(const near *p, size_t i)
{
    double x = 0, y = 0;
    for (size_t j = 0; j < p->n; j++)
        if (j != i) {
            double far = hypot(p->x[j] - p->x[i], p->y[j] - p->y[i]);
            x += p->weight[j] * (p->x[j] - p->x[i]) / far;
            y += p->weight[j] * (p->y[j] - p->y[i]) / far;
        }
    return hypot(x, y);
}

static void assert_place(const rf_model *m, const float *z)
{
    rf_error err = {0};
    float x, y;
    double a, b;
    near p = nearest(m, z);
    if (rf_model_place(m, z, &x, &y, &err) != RF_OK)
        fail_msg("%s", err.msg);
    least(&p, &a, &b);
    /* in a flat valley the two may stop some distance apart */
    assert_true(fabs((double)x - a) < 1e-3 && fabs((double)y - b) < 1e-3);
    assert_true(cost(&p, (double)x, (double)y) < cost(&p, a, b) * (1 + 1e-6));
    for (size_t i = 0; i < p.n; i++)
        if (pull(&p, i) < p.weight[i] * (1 - 1e-9)) /* then it is that point */
            assert_true((double)x == p.x[i] && (double)y == p.y[i]);
}

/* Row `row` plus noise: 0 is the row itself, 2 is as far away as other rows. */
static void beside(const rf_model *m, size_t row, double noise, float *z)
{
    feature_of(m, row, z);
    for (size_t j = 0; j < m->known.width; j++)
        z[j] += (float)(noise * sin((double)(17 * row + 5 * j * j + 1)));
}

static void placed_at_the_median(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 7, 32, 384, 5000};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t rows = 20; rows >= 2; rows /= 2) {
            rf_model *m = make_map(widths[w], 2 * rows, 2);
            float *z = malloc(widths[w] * sizeof *z);
            assert_non_null(z);
            for (size_t i = 0; i < 2 * rows; i++)
                for (double noise = 0.05; noise < 4; noise *= 3) {
                    beside(m, i, noise, z);
                    assert_place(m, z);
                }
            free(z);
            rf_model_free(m);
        }
}

/* With neighbours on two sides the point goes to the majority, not between. */
static void not_between_two_clusters(void **state)
{
    (void)state;
    static const float places[5] = {-0.9f, 0.8f, -0.85f, 0.75f, -0.8f};
    rf_model *m = make_map(16, 200, 1);
    float z[16], x, y;
    beside(m, 40, 1.0, z);
    near p = nearest(m, z);
    for (size_t k = 0; k < 5; k++)
        for (size_t i = 0; i < m->map_n; i++) /* the k-th nearest is moved */
            if ((double)m->map_xy[2 * i] == p.x[k] &&
                (double)m->map_xy[2 * i + 1] == p.y[k]) {
                m->map_xy[2 * i] = places[k];
                m->map_xy[2 * i + 1] = 0.1f * (float)k;
            }
    assert_true(p.weight[1] + p.weight[3] < p.weight[0] + p.weight[2] + p.weight[4]);
    assert_int_equal(rf_model_place(m, z, &x, &y, NULL), RF_OK);
    assert_true(x <= -0.8f && y >= 0.0f && y <= 0.4f);
    rf_model_free(m);
}

/* Exactly there; almost, if rounding to half precision has moved the feature. */
static void a_training_text_falls_onto_its_point(void **state)
{
    (void)state;
    rf_model *m = make_map(384, 200, 2); /* every second row: no copies */
    float z[384], x, y;
    for (size_t i = 0; i < m->map_n; i++) {
        feature_of(m, (size_t)m->map_rows[i], z);
        assert_int_equal(rf_model_place(m, z, &x, &y, NULL), RF_OK);
        assert_true(x == m->map_xy[2 * i] && y == m->map_xy[2 * i + 1]);
        for (size_t j = 0; j < 384; j++)
            z[j] *= 1.0f + (j % 3 == 0 ? 0x1p-11f : -0x1p-11f);
        assert_int_equal(rf_model_place(m, z, &x, &y, NULL), RF_OK);
        assert_true(fabsf(x - m->map_xy[2 * i]) < 1e-6f);
        assert_true(fabsf(y - m->map_xy[2 * i + 1]) < 1e-6f);
    }
    rf_model_free(m);
}

/* Copies of one text at different places, and all points at one place. */
static void odd_maps(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model *m = make_map(16, 40, 1);
    float z[16] = {0}, x, y;
    for (size_t i = 1; i < 40; i++)
        memcpy(m->features + i * 16, m->features, 16 * sizeof *m->features);
    for (int on = 0; on <= 1; on++) {
        if (on)
            feature_of(m, 0, z);
        assert_int_equal(rf_model_place(m, z, &x, &y, NULL), RF_OK);
        double got = 0, best = 1e9; /* of the first five, all of one weight */
        for (int k = 0; k < 400; k++) {
            double sum = 0, a = k % 20 * 0.1 - 1, b = k / 20 * 0.1 - 1;
            for (size_t i = 0; i < 5; i++)
                sum +=
                    hypot((double)m->map_xy[2 * i] - a, (double)m->map_xy[2 * i + 1] - b);
            best = sum < best ? sum : best;
        }
        for (size_t i = 0; i < 5; i++)
            got += hypot((double)m->map_xy[2 * i] - (double)x,
                         (double)m->map_xy[2 * i + 1] - (double)y);
        assert_true(got <= best);
    }
    for (size_t i = 0; i < 80; i++)
        m->map_xy[i] = 0.25f;
    assert_int_equal(rf_model_place(m, z, &x, &y, NULL), RF_OK);
    assert_true(x == 0.25f && y == 0.25f);
    z[3] = NAN;
    assert_int_equal(rf_model_place(m, z, &x, &y, &err), RF_ERR_NUMERIC);
    assert_error(&err, RF_ERR_NUMERIC, "NaN");
    assert_true(x == 0.0f && y == 0.0f);
    rf_model_free(m);
}

/* ---- The ring ---------------------------------------------------------------------- */

/* An answer that is open goes outwards along the ray through its place among the points,
 * by the formula of docs/MODEL.md; a class stays there. */
static void open_answers_are_on_the_ring(void **state)
{
    (void)state;
    rf_model *m = make_map(16, 200, 1);
    rf_map_ring ring = rf_model_map_ring(m);
    double radius = 0, usual = 0, last = 0;
    float z[16], x, y, u, v;
    for (size_t i = 0; i < m->map_n; i++)
        radius =
            fmax(radius, hypot((double)m->map_xy[2 * i], (double)m->map_xy[2 * i + 1]));
    for (size_t c = 0; c < m->classes; c++)
        usual += (double)m->stats.distance[c];
    usual /= (double)m->classes;
    assert_true(usual > 0 && fabs((double)ring.inner - 1.08 * radius) < 1e-6 &&
                fabs((double)ring.outer - 1.30 * radius) < 1e-6);
    for (double noise = 0.05; noise < 500; noise *= 1.5) {
        beside(m, 40, noise, z);
        rf_decision d = {.class_index = 0, .feature = z};
        assert_int_equal(rf_model_place(m, z, &u, &v, NULL), RF_OK);
        assert_int_equal(rf_decision_place(m, &d, &x, &y, NULL), RF_OK);
        assert_true(x == u && y == v);
        d.class_index = RF_OPEN;
        assert_int_equal(rf_decision_place(m, &d, &x, &y, NULL), RF_OK);
        double least = INFINITY;
        for (size_t i = 0; i < m->map_n; i++) {
            float w[16];
            double sum = 0;
            feature_of(m, (size_t)m->map_rows[i], w);
            for (size_t j = 0; j < 16; j++)
                sum += pow((double)z[j] - (double)w[j], 2);
            least = fmin(least, sqrt(sum));
        }
        double s = pow(least / usual, 8), far = hypot((double)u, (double)v);
        double want = radius * (1.08 + 0.22 * s / (1 + s));
        assert_true(fabs(hypot((double)x, (double)y) - want) < 1e-5);
        assert_true(fabs((double)x - want * (double)u / far) < 1e-5 &&
                    fabs((double)y - want * (double)v / far) < 1e-5);
        last = hypot((double)x, (double)y);
    }
    assert_true(fabs(last - (double)ring.outer) < 1e-3); /* nothing is farther out */
    rf_model_free(m);
}

/* Places that have no direction, distances that say nothing, and no map. */
static void odd_rings(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_model *m = make_map(16, 40, 1);
    float z[16] = {0}, x, y;
    rf_decision d = {.class_index = RF_OPEN, .feature = z};
    for (size_t c = 0; c < m->classes; c++)
        m->stats.distance[c] = 0.0f;
    assert_int_equal(rf_decision_place(m, &d, &x, &y, NULL), RF_OK);
    assert_true(fabsf(hypotf(x, y) - rf_model_map_ring(m).outer) < 1e-5f);
    feature_of(m, 0, z); /* 0 / 0 */
    assert_int_equal(rf_decision_place(m, &d, &x, &y, NULL), RF_OK);
    assert_true(fabsf(hypotf(x, y) - rf_model_map_ring(m).inner) < 1e-5f);
    memset(m->map_xy, 0, 80 * sizeof *m->map_xy);
    assert_int_equal(rf_decision_place(m, &d, &x, &y, NULL), RF_OK);
    assert_true(x == 0.0f && y == 0.0f);
    z[3] = NAN;
    assert_int_equal(rf_decision_place(m, &d, &x, &y, &err), RF_ERR_NUMERIC);
    assert_true(x == 0.0f && y == 0.0f);
    m->map_n = 0;
    assert_int_equal(rf_decision_place(m, &d, &x, &y, &err), RF_ERR_MISSING);
    assert_true(rf_model_map_ring(m).outer == 0.0f);
    m->map_n = 40;
    rf_model_free(m);
}

/* ---- Files ------------------------------------------------------------------------- */

static rf_model *load(void)
{
    rf_error err = {0};
    rf_model *m = rf_model_load(path, &err);
    if (!m)
        fail_msg("%s", err.msg);
    return m;
}

/* Saved, loaded, saved again from the mapping; texts or not, slim or not. */
static void through_a_file(void **state)
{
    (void)state;
    rf_dataset *data = make_data(10);
    rf_train_options o = quick();
    o.map_points = 20;
    rf_model *a = train(data, &o);
    float z[32], x, y, u, v;
    beside(a, 3, 0.1, z);
    assert_int_equal(rf_model_place(a, z, &x, &y, NULL), RF_OK);
    for (int i = 0; i < 4; i++) {
        const rf_save_options s = {.slim = i & 1, .keep_examples = i & 2};
        save(a, s);
        rf_model *b = load();
        save(b, s);
        rf_model *c = load();
        assert_true(same_map(a, b) && same_map(a, c));
        assert_non_null(strstr(rf_model_json(c), "\"map\":20"));
        assert_int_equal(rf_model_place(c, z, &u, &v, NULL), RF_OK);
        assert_true(x == u && y == v);
        rf_map_point p = rf_model_map_point(a, 7), q = rf_model_map_point(c, 7);
        assert_true(p.x == q.x && p.y == q.y && p.class_index == q.class_index);
        assert_true(!q.text == !s.keep_examples && (p.text_len == q.text_len || !q.text));
        rf_model_free(c);
        rf_model_free(b);
    }
    save(a, (rf_save_options){.no_features = true});
    rf_model *b = load();
    assert_int_equal(rf_model_map_size(b), 0);
    assert_non_null(strstr(rf_model_json(b), "\"map\":0"));
    assert_int_equal(rf_model_place(b, z, &u, &v, NULL), RF_ERR_MISSING);
    rf_model_free(b);
    rf_model_free(a);
    rf_dataset_free(data);
}

/* A file older than maps does not mention one. */
static void a_file_older_than_maps(void **state)
{
    (void)state;
    size_t len;
    sealed s;
    rf_model *m = small_model(TINY "encoder", 3, 1, NULL);
    assert_non_null(m);
    m->map_n = 0;
    save(m, (rf_save_options){.keep_examples = true});
    rf_model_free(m);
    for (int says = 0; says <= 1; says++) {
        unsigned char *file = (unsigned char *)scratch_read(path, &len);
        assert_true(sealed_take_apart(&s, file, len));
        free(file);
        json_t *kept = json_object_get(s.about, "kept");
        assert_int_equal(json_object_set_new(kept, "map", json_integer(4)), 0);
        if (!says)
            assert_int_equal(json_object_del(kept, "map"), 0);
        file = sealed_put_together(&s, &len);
        assert_non_null(file);
        scratch_write(dir, "model.rf", file, len);
        free(file);
        sealed_release(&s);
        if (says) {
            refuse(RF_ERR_FORMAT, "does not fit the content", "kept.map");
            continue;
        }
        m = load();
        assert_int_equal(rf_model_map_size(m), 0);
        assert_int_equal(m->n_rows, 9);
        rf_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_draws_the_map),
        cmocka_unit_test(the_points),
        cmocka_unit_test(no_map),
        cmocka_unit_test(tiny_data),
        cmocka_unit_test_setup_teardown(progress_and_stop_requests, set_up, tear_down),
        cmocka_unit_test(a_sample_fair_to_the_classes),
        cmocka_unit_test(every_row_can_be_chosen),
        cmocka_unit_test(placed_at_the_median),
        cmocka_unit_test(not_between_two_clusters),
        cmocka_unit_test(a_training_text_falls_onto_its_point),
        cmocka_unit_test(odd_maps),
        cmocka_unit_test(open_answers_are_on_the_ring),
        cmocka_unit_test(odd_rings),
        cmocka_unit_test_setup_teardown(through_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_older_than_maps, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
