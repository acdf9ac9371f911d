/* lab_folds.c - runs the folds of an experiment, or reads what they found from the cache
 */
#include "lab/lab_folds.h"

#include "base/clock.h"
#include "folds/cross_fit.h"
#include "stages/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rf_status run_folds(rf_lab_folds *f, const rf_stage1_problem *p,
                           const rf_train_options *o, const rf_settings *s, rf_error *err)
{
    rf_cross_fit cross = {0};
    rf_training t = {
        .o = *o, .s = *s, .team = p->team, .start = rf_clock_seconds(), .err = err};
    t.model = rf_model_new(err);
    if (!t.model)
        return RF_ERR_NOMEM;
    t.model->method = p->method;
    rf_status st = rf_model_set_labels(t.model, p->split->label, p->split->classes, err);
    if (st == RF_OK)
        st = rf_model_use_encoder(t.model, p->encoder, err);
    if (st == RF_OK)
        st = rf_stage1_rows(p, &t);
    if (st == RF_OK)
        st = rf_cross_fit_run(&cross, &t);
    *f = (rf_lab_folds){t.fence, t.s.blend, rf_clock_seconds() - t.start};
    rf_cross_fit_release(&cross);
    rf_training_release(&t);
    rf_model_free(t.model);
    return st;
}

static rf_status write_file(const rf_lab_folds *f, const char *path, const char *identity,
                            rf_error *err)
{
    const float found[2] = {f->fence, f->blend};
    const rf_section section = {
        .name = "fence", .dtype = RF_F32, .rank = 1, .shape = {2}, .data = found};
    json_t *root = json_pack("{s:s, s:f}", "identity", identity, "seconds", f->seconds);
    char *json = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    rf_status st = json ? rf_container_write(path, "folds", json, &section, 1, err)
                        : rf_fail_nomem(err, 1024, "a description");
    free(json);
    return st;
}

static rf_status read_file(rf_lab_folds *f, const char *path, const char *identity,
                           rf_error *err)
{
    rf_container file;
    rf_status st = rf_container_open(&file, path, "folds", err);
    if (st != RF_OK)
        return st;
    const size_t shape[] = {2};
    const rf_tensor *t = rf_container_find(&file, "fence", RF_F32, 1, shape, err);
    const char *found = json_string_value(json_object_get(file.json, "identity"));
    if (!t) {
        st = RF_ERR_FORMAT;
    } else if (!found || strcmp(found, identity) != 0) {
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: its content does not match its name; remove it", path);
    } else {
        float pair[2];
        memcpy(pair, t->data, sizeof pair);
        *f = (rf_lab_folds){pair[0], pair[1],
                            json_number_value(json_object_get(file.json, "seconds"))};
    }
    rf_container_close(&file);
    return st;
}

/* Stage 1 and the settings of stage 2. */
static char *identify(const rf_stage1_problem *p, const rf_train_options *o,
                      const rf_settings *s)
{
    json_t *id = rf_stage1_identity(p, o, s), *all = rf_train_settings_json(o, s);
    bool good = id && all &&
                json_object_set(id, "open", json_object_get(all, "open")) == 0 &&
                json_object_set_new(id, "method", json_string(p->method->name)) == 0;
    char *text = good ? json_dumps(id, JSON_COMPACT) : NULL;
    json_decref(id);
    json_decref(all);
    return text;
}

rf_status rf_lab_folds_get(rf_lab_folds *f, const rf_stage1_problem *p, rf_error *err)
{
    char path[RF_PATH_MAX], hex[RF_SHA256_HEX];
    rf_train_options o = p->o;
    rf_settings s = p->s;
    rf_error local = {0};
    err = err ? err : &local;
    *f = (rf_lab_folds){.blend = s.blend};
    rf_status st =
        rf_train_resolve(&o, &s, p->config, p->split->train.n, p->split->classes, err);
    if (st != RF_OK || !p->method->cross_fits || s.fence_reject != 0.0f)
        return st;
    char *identity = identify(p, &o, &s);
    if (!identity)
        return rf_fail_nomem(err, 1024, "a description");
    rf_sha256_bytes(identity, strlen(identity), hex);
    snprintf(path, sizeof path, "%s/folds-%.16s.st", p->cache, hex);
    if (rf_file_exists(path)) {
        st = read_file(f, path, identity, err);
    } else {
        st = run_folds(f, p, &o, &s, err);
        if (st == RF_OK)
            st = write_file(f, path, identity, err);
    }
    free(identity);
    return st;
}
