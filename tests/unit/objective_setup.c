/* objective_setup.c - sets up objectives with the parameters of the golden file */
#include "objective_setup.h"

#include "encoder/safetensors.h"
#include "near.h"
#include "num/panels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_safetensors golden;

int open_golden(void **state)
{
    (void)state;
    return rf_safetensors_open(&golden, GOLDEN_DIR "/objectives.safetensors", NULL) !=
           RF_OK;
}

int close_golden(void **state)
{
    (void)state;
    rf_safetensors_close(&golden);
    return 0;
}

void *load(const char *a, const char *b, const char *c, size_t want)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s%s%s", a, *b ? "." : "", b, *c ? "." : "", c);
    const rf_tensor *t = rf_safetensors_find(&golden, name);
    if (!t || t->count != want)
        fail_msg("%s: found %zu numbers, wanted %zu", name, t ? t->count : 0, want);
    assert_int_equal(rf_dtype_size(t->dtype), 4);
    void *p = malloc(t->count * 4);
    assert_non_null(p);
    memcpy(p, t->data, t->count * 4);
    return p;
}

const variant variants[VARIANTS] = {
    {"doc", &rf_method_doc, 0, 0, 0, 1, 0, false, "z", "labels"},
    {"doc_drop", &rf_method_doc, 0.2f, 0, 0, 1, 0, false, "z", "labels"},
    {"doc_textoir", &rf_method_doc, 0.2f, 0, 0, 1, 0, true, "z", "labels"},
    {"convex", &rf_method_convex, 0, 0, 0, 1, 0, false, "z", "labels"},
    {"convex_drop", &rf_method_convex, 0.2f, 0.5f, 0, 1, 0, false, "z", "labels"},
    {"selfsup", &rf_method_selfsup, 0.2f, 0, 0, 1, 0, false, "z", "open_labels"},
    {"negatives", &rf_method_msp_neg, 0, 0, 0, 1, 0, false, "z", "labels"},
    {"negatives_drop", &rf_method_msp_neg, 0.2f, 0, 0, 1, 0, false, "z", "labels"},
    {"negatives_ascent", &rf_method_msp_neg, 0.2f, 0, 0, 1.3f, 3, false, "z", "labels"},
    {"negatives_radius", &rf_method_msp_neg, 0, 0, 4, 1, 0, false, "z", "labels"},
    {"negatives_point", &rf_method_msp_neg, 0, 0, 0, 1, 0, false, "z_point", "labels"},
    {"negatives_drop", &rf_method_adb_neg, 0.2f, 0, 0, 1, 0, false, "z", "labels"},
};
static void load_known(rf_known *k, size_t outputs)
{
    assert_int_equal(rf_known_init(k, WIDTH, outputs, NULL), RF_OK);
    float *dense_w = load("dense.weight", "", "", WIDTH * WIDTH);
    float *dense_b = load("dense.bias", "", "", WIDTH);
    float *out_w = load("out.weight", "", "", (CLASSES + 1) * WIDTH);
    float *out_b = load("out.bias", "", "", CLASSES + 1);
    rf_panels_pack(k->dense_w, dense_w, WIDTH, WIDTH);
    rf_panels_pack(k->out_w, out_w, outputs, WIDTH);
    memcpy(k->dense_b, dense_b, WIDTH * sizeof(float));
    memcpy(k->out_b, out_b, outputs * sizeof(float));
    free(dense_w);
    free(dense_b);
    free(out_w);
    free(out_b);
}

void set_up(setup *s, const variant *v)
{
    rf_error err;
    *s = (setup){.v = v,
                 .options = {.threshold = 0.5f,
                             .doc_alpha = 3.0f,
                             .neg_gamma = 2.0f,
                             .boundary_epochs = 100,
                             .boundary_rate = 0.5f}};
    load_known(&s->known, v->method->open_class ? CLASSES + 1 : CLASSES);
    s->z = load(v->z, "", "", ROWS * WIDTH);
    s->class_of = load(v->labels, "", "", ROWS);
    s->dev_z = load("dev_z", "", "", DEV * WIDTH);
    s->dev_class = load("dev_labels", "", "", DEV);
    s->texts = (rf_activations){.n_texts = ROWS, .width = WIDTH};
    s->options.temperature = v->temperature;
    s->options.neg_radius = v->radius;
    s->options.neg_rho = v->rho;
    s->options.neg_ascent_steps = v->ascent;
    s->options.neg_ascent_rate = 0.1f;
    s->options.textoir = v->textoir;
    s->team = rf_team_new(1, &err);
    assert_non_null(s->team);
    rf_objective_setting setting = {.known = &s->known,
                                    .width = WIDTH,
                                    .classes = CLASSES,
                                    .batch = BATCH,
                                    .texts = &s->texts,
                                    .class_of = s->class_of,
                                    .team = s->team,
                                    .seed = SEED,
                                    .o = &s->options};
    s->o = v->method->objective(&setting, &err);
    assert_non_null(s->o);
    assert_int_equal(s->o->n_params, 4);
    if (s->o->before_epoch)
        assert_int_equal(s->o->before_epoch(s->o, s->z, 0, &err), RF_OK);
}

void tear_down(setup *s)
{
    rf_objective_free(s->o);
    rf_known_release(&s->known);
    rf_team_free(s->team);
    free(s->z);
    free(s->class_of);
    free(s->dev_z);
    free(s->dev_class);
}

void fit(const setup *s, rf_method_state *f)
{
    const rf_method *m = s->v->method;
    rf_error err;
    *f = (rf_method_state){.width = WIDTH, .classes = CLASSES};
    rf_fit in = {.width = WIDTH,
                 .classes = CLASSES,
                 .rows = ROWS,
                 .z = s->z,
                 .class_of = s->class_of,
                 .dev_rows = DEV,
                 .dev_z = s->dev_z,
                 .dev_class = s->dev_class,
                 .known = &s->known,
                 .o = &s->options,
                 .seed = SEED,
                 .team = s->team};
    if (m->fit)
        assert_int_equal(m->fit(f, &in, &err), RF_OK);
    if (m->prepare)
        assert_int_equal(m->prepare(f, &err), RF_OK);
}

void unfit(const setup *s, rf_method_state *f)
{
    if (s->v->method->release)
        s->v->method->release(f);
    rf_method_state_release(f);
}
