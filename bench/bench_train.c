/*
 * bench_train.c - our side of the training benchmark (bench/train.py), and the input of
 * the other side
 *
 *   bench_train write FILE TRAIN.tsv [LIST]     what bench/train_peer.py reads
 *   bench_train stage1 EPOCHS THREADS TRAIN.tsv [LIST]
 *   bench_train stage2 STEPS POSITIVES NEGATIVES ASCENT THREADS TRAIN.tsv [LIST]
 *   bench_train growth STEPS THREADS CLASSES ROWS   both stages on made-up texts
 *
 * LIST names the classes to keep, one per line. Each prints one line of JSON. Stage 1 is
 * the time of each epoch without the look at dev; stage 2 the time of all steps of all
 * heads. The encoder is minilm.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "stages/fine_tune.h"
#include "model/container.h"
#include "num/panels.h"
#include "ans/ans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE 2

typedef struct rows {
    size_t n, classes;
    const char **texts;
    size_t *lens;
    uint32_t *class_of;
} rows;

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "bench_train: out of memory\n");
        exit(1);
    }
    return p;
}

static void check(bool good, const rf_error *err)
{
    if (!good) {
        fprintf(stderr, "bench_train: %s\n", err->msg);
        exit(1);
    }
}

static size_t number(const char *text)
{
    return (size_t)strtoull(text, NULL, 10);
}

/* ---- Rows ---------------------------------------------------------------------------
 */

static char *read_list(const char *path)
{
    rf_buffer text;
    rf_error err;
    rf_buffer_init(&text, 1 << 20, path);
    check(rf_file_read(path, &text, &err) == RF_OK, &err);
    check(rf_buffer_add(&text, "\n", 1, &err) == RF_OK, &err);
    return text.data;
}

/* Is this a line of the list? */
static bool listed(const char *list, const char *label)
{
    size_t n = strlen(label);
    for (const char *line = list; line && *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, label, n) == 0 && line[n] == '\n')
            return true;
    return !list;
}

static rows load_rows(const char *path, const char *list_path)
{
    rf_error err;
    rf_data_options o = rf_data_options_default();
    o.raw_tsv = list_path != NULL;
    rf_dataset *data = rf_dataset_read(path, &o, &err);
    check(data != NULL, &err);
    const char *list = list_path ? read_list(list_path) : NULL;
    size_t n = rf_dataset_rows(data), classes = rf_dataset_classes(data);
    rows r = {.texts = need(calloc(n, sizeof *r.texts)),
              .lens = need(calloc(n, sizeof *r.lens)),
              .class_of = need(calloc(n, sizeof *r.class_of))};
    uint32_t *new_number = need(calloc(classes, sizeof *new_number));
    for (size_t c = 0; c < classes; c++)
        new_number[c] = listed(list, rf_dataset_label(data, c, NULL))
                            ? (uint32_t)r.classes++
                            : UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = new_number[rf_dataset_class(data, i)];
        if (c == UINT32_MAX)
            continue;
        r.texts[r.n] = rf_dataset_text(data, i, &r.lens[r.n]);
        r.class_of[r.n++] = c;
    }
    free(new_number);
    return r; /* the data set lives as long as the program */
}

/* Made-up texts of 10 words; a class has its own three words beside common ones. */
static rows make_rows(size_t classes, size_t n)
{
    static const char *const common[] = {"the",   "a",   "my", "where", "how", "please",
                                         "order", "not", "is", "can",   "you", "help"};
    rows r = {.n = n,
              .classes = classes,
              .texts = need(calloc(n, sizeof *r.texts)),
              .lens = need(calloc(n, sizeof *r.lens)),
              .class_of = need(calloc(n, sizeof *r.class_of))};
    rf_rng rng = rf_rng_open(1);
    for (size_t i = 0; i < n; i++) {
        char text[256] = "";
        size_t c = i % classes, at = 0;
        for (size_t w = 0; w < 10; w++) {
            if (w % 3 == 1)
                at += (size_t)snprintf(text + at, sizeof text - at, "%zu ",
                                       c * 3 + rf_rng_below(&rng, 3));
            else
                at += (size_t)snprintf(text + at, sizeof text - at, "%s ",
                                       common[rf_rng_below(&rng, 12)]);
        }
        r.texts[i] = need(strdup(text));
        r.lens[i] = at;
        r.class_of[i] = (uint32_t)c;
    }
    return r;
}

/* ---- The stages ---------------------------------------------------------------------
 */

typedef struct setting {
    rf_encoder *e;
    rf_team *team;
    rf_activations a, none;
    rf_known known;
    float *z;
} setting;

static setting prepare(const rows *r, size_t threads)
{
    setting s = {0};
    rf_error err;
    char dir[RF_PATH_MAX];
    check(rf_encoder_path("minilm", dir, sizeof dir, &err) == RF_OK, &err);
    s.e = rf_encoder_load_half(dir, &err);
    check(s.e != NULL, &err);
    s.team = rf_team_new(threads, &err);
    check(s.team != NULL, &err);
    rf_activation_options o = {.layer = s.e->config.layers - LIVE,
                               .max_tokens = 512,
                               .cache_bytes = (size_t)2 << 30,
                               .cache_dir = "/tmp"};
    check(rf_activations_init(&s.a, s.e, r->texts, r->lens, r->n, &o, s.team, &err) ==
              RF_OK,
          &err);
    s.none.width = s.a.width;
    check(rf_known_init(&s.known, s.a.width, r->classes, &err) == RF_OK, &err);
    rf_known_reset(&s.known, 1);
    return s;
}

static void features(setting *s)
{
    rf_error err;
    s->z = need(rf_floats_new(s->a.n_texts * s->a.width));
    check(rf_activations_features(&s->a, s->e, s->z, s->team, NULL, NULL, &err) == RF_OK,
          &err);
}

/* Seconds of each epoch to stdout; returns the fastest. */
static double run_stage1(setting *s, const rows *r, size_t epochs, bool print)
{
    rf_error err;
    double best = 1e30;
    rf_settings o = rf_settings_default();
    o.epochs = o.patience = epochs;
    o.batch = 128;
    rf_fine_tune *t =
        rf_fine_tune_new(s->e, LIVE, &s->known, (rf_labelled){&s->a, r->class_of},
                         (rf_labelled){&s->none, NULL}, NULL, &o, 1, s->team, &err);
    check(t != NULL, &err);
    for (size_t i = 0; i < epochs; i++) {
        double start = rf_clock_seconds();
        check(rf_fine_tune_epoch(t, NULL, NULL, &err) == RF_OK, &err);
        double took = rf_clock_seconds() - start;
        best = took < best ? took : best;
        if (print)
            printf("%s%.4f", i ? ", " : "", took);
    }
    if (print)
        printf("], \"loss\": %.4f", rf_fine_tune_where(t)->loss);
    rf_fine_tune_free(t);
    return best;
}

static double run_stage2(setting *s, const rows *r, const rf_settings *o)
{
    rf_error err;
    rf_class_stats stats;
    rf_heads heads;
    rf_class_report *reports = need(calloc(r->classes, sizeof *reports));
    uint64_t *keys = need(calloc(r->classes, sizeof *keys));
    for (size_t i = 0; i < r->classes; i++)
        keys[i] = rf_rng_mix(i);
    check(rf_class_stats_init(&stats, s->z, r->class_of, r->n, s->a.width, r->classes,
                              &err) == RF_OK,
          &err);
    check(rf_heads_init(&heads, s->a.width, r->classes, &err) == RF_OK, &err);
    const rf_fit p = {.team = s->team,
                      .width = s->a.width,
                      .classes = r->classes,
                      .rows = r->n,
                      .z = s->z,
                      .class_of = r->class_of,
                      .class_key = keys,
                      .stats = &stats,
                      .o = o};
    double start = rf_clock_seconds();
    check(rf_ans_train(&heads, &p, 0, r->classes, reports, &err) == RF_OK, &err);
    double took = rf_clock_seconds() - start;
    rf_method_state_release(&heads);
    rf_class_stats_release(&stats);
    free(reports);
    free(keys);
    return took;
}

static rf_settings head_options(size_t steps)
{
    rf_settings o = rf_settings_default();
    o.head_steps = o.head_max_steps =
        steps; /* no extension: the same work on both sides */
    o.head_cool_steps = 0;
    o.head_negatives = 256;
    o.positive_noise = 0.0f;
    o.negative_weight = 0.25f;
    o.ascent_steps = 0;
    return o;
}

/* ---- The other side's input ---------------------------------------------------------
 */

#define MOST_SECTIONS 64
typedef struct sections {
    rf_section list[MOST_SECTIONS];
    size_t n;
} sections;

static void add(sections *s, const char *name, rf_dtype dtype, const void *data,
                size_t rows_, size_t columns)
{
    rf_section *t = &s->list[s->n++];
    *t = (rf_section){.dtype = dtype, .data = data, .shape = {rows_, columns}};
    t->rank = columns ? 2 : 1;
    snprintf(t->name, sizeof t->name, "%s", name);
}

static void add_matrix(sections *s, const char *name, const float *panels, size_t out,
                       size_t in)
{
    float *w = need(malloc(out * in * sizeof *w));
    rf_panels_unpack(w, panels, out, in);
    add(s, name, RF_F32, w, out, in);
}

static void write_input(const char *path, setting *s, const rows *r)
{
    const rf_config *c = &s->e->config;
    sections out = {0};
    rf_error err;
    static int32_t heads;
    static float eps;
    heads = (int32_t)c->heads;
    eps = c->eps;
    int32_t *offsets = need(calloc(r->n + 1, sizeof *offsets));
    for (size_t i = 0; i <= r->n; i++)
        offsets[i] = (int32_t)s->a.offsets[i];
    add(&out, "x", RF_F32, s->a.states, s->a.n_tokens, c->width);
    add(&out, "offsets", RF_I32, offsets, r->n + 1, 0);
    add(&out, "labels", RF_I32, r->class_of, r->n, 0);
    add(&out, "heads", RF_I32, &heads, 1, 0);
    add(&out, "layer_norm_eps", RF_F32, &eps, 1, 0);
    for (size_t i = c->layers - LIVE; i < c->layers; i++)
        for (size_t g = 0; g < RF_LAYER_GROUPS; g++) {
            rf_layer_group y = rf_encoder_layer_group(s->e, i, g);
            float *w = need(malloc(y.n_names * y.out * (y.in ? y.in : 1) * sizeof *w));
            if (y.in)
                rf_panels_unpack(w, y.weight, y.n_names * y.out, y.in);
            for (size_t k = 0; k < y.n_names; k++) {
                char name[96];
                snprintf(name, sizeof name, "encoder.layer.%zu.%s.weight", i, y.names[k]);
                add(&out, name, RF_F32, y.in ? w + k * y.out * y.in : y.weight, y.out,
                    y.in);
                snprintf(name, sizeof name, "encoder.layer.%zu.%s.bias", i, y.names[k]);
                add(&out, name, RF_F32, y.bias + k * y.out, y.out, 0);
            }
        }
    add_matrix(&out, "known.dense.weight", s->known.dense_w, c->width, c->width);
    add(&out, "known.dense.bias", RF_F32, s->known.dense_b, c->width, 0);
    add_matrix(&out, "known.out.weight", s->known.out_w, r->classes, c->width);
    add(&out, "known.out.bias", RF_F32, s->known.out_b, r->classes, 0);
    add(&out, "z", RF_F32, s->z, r->n, c->width);
    check(rf_container_write(path, "bench", "{}", out.list, out.n, &err) == RF_OK, &err);
    printf("{\"texts\": %zu, \"tokens\": %zu, \"classes\": %zu}\n", r->n, s->a.n_tokens,
           r->classes);
}

/* ---- Commands -----------------------------------------------------------------------
 */

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "write") == 0 && argc >= 4) {
        rows r = load_rows(argv[3], argc > 4 ? argv[4] : NULL);
        setting s = prepare(&r, rf_cpu_count());
        features(&s);
        write_input(argv[2], &s, &r);
    } else if (strcmp(what, "stage1") == 0 && argc >= 5) {
        rows r = load_rows(argv[4], argc > 5 ? argv[5] : NULL);
        setting s = prepare(&r, number(argv[3]));
        printf("{\"epoch_seconds\": [");
        run_stage1(&s, &r, number(argv[2]), true);
        printf("}\n");
    } else if (strcmp(what, "stage2") == 0 && argc >= 8) {
        rows r = load_rows(argv[7], argc > 8 ? argv[8] : NULL);
        setting s = prepare(&r, number(argv[6]));
        rf_settings o = head_options(number(argv[2]));
        o.head_positives = number(argv[3]);
        o.head_negatives = number(argv[4]);
        o.ascent_steps = number(argv[5]);
        features(&s);
        double took = run_stage2(&s, &r, &o);
        printf("{\"seconds\": %.4f, \"step_seconds\": %.6f, \"classes\": %zu}\n", took,
               took / (double)o.head_steps, r.classes);
    } else if (strcmp(what, "growth") == 0 && argc >= 6) {
        rows r = make_rows(number(argv[4]), number(argv[5]));
        double start = rf_clock_seconds();
        setting s = prepare(&r, number(argv[3]));
        double encoded = rf_clock_seconds() - start;
        double epoch = run_stage1(&s, &r, 1, false);
        features(&s);
        const rf_settings o = head_options(number(argv[2]));
        double heads = run_stage2(&s, &r, &o);
        printf("{\"classes\": %zu, \"rows\": %zu, \"tokens\": %zu, \"encode_seconds\": "
               "%.3f, \"epoch_seconds\": %.3f, \"head_step_seconds\": %.6f}\n",
               r.classes, r.n, s.a.n_tokens, encoded, epoch,
               heads / (double)o.head_steps / (double)r.classes);
    } else {
        fprintf(stderr, "usage: see the top of bench_train.c\n");
        return 2;
    }
    return 0;
}
