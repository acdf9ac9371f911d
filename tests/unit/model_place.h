/*
 * model_place.h - a scratch directory with a place for a model file, made and removed
 * around each test
 */
#ifndef RF_TEST_MODEL_PLACE_H
#define RF_TEST_MODEL_PLACE_H

#include "scratch.h"
#include "small_model.h"

#define TINY GOLDEN_DIR "/tiny/"

static char dir[RF_PATH_MAX], path[RF_PATH_MAX];

static inline int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, "model.rf");
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static inline void save(const rf_model *m, rf_save_options o)
{
    rf_error err = {0};
    o.struct_size = sizeof o;
    if (rf_model_save(m, path, &o, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

static inline void refuse(rf_status code, const char *a, const char *b)
{
    rf_error err = {0};
    if (rf_model_load(path, &err))
        fail_msg("loaded, wanted a complaint: %s, %s", a, b);
    assert_error(&err, code, path, a, b);
    assert_null(rf_model_load(path, NULL));
}

/* The bytes of a model that was saved at path; the caller's. */
static inline unsigned char *saved(size_t classes, bool slim, size_t *len)
{
    rf_error err = {0};
    rf_model *m = small_model(TINY "encoder", classes, slim ? 0 : 1, &err);
    if (!m)
        fail_msg("%s", err.msg);
    save(m, (rf_save_options){.slim = slim, .keep_examples = true});
    rf_model_free(m);
    return (unsigned char *)scratch_read(path, len);
}

#endif
