/* model_history.c - numbered files beside the model */
#include "model_history.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Step 1 is the last model. False if the path is too long. */
static bool step_path(const char *model, size_t step, char out[RF_PATH_MAX])
{
    char number[24] = "";
    if (step > 1)
        snprintf(number, sizeof number, ".%zu", step);
    return snprintf(out, RF_PATH_MAX, "%s.before%s", model, number) < RF_PATH_MAX;
}

static bool step_exists(const char *model, size_t step)
{
    char path[RF_PATH_MAX];
    return step_path(model, step, path) && rf_file_exists(path);
}

/* The last model's; HISTORY_STEPS + 1 if there is none. */
static size_t first_step(const char *model)
{
    size_t step = 1;
    while (step <= HISTORY_STEPS && !step_exists(model, step))
        step++;
    return step;
}

size_t model_history_steps(const char *model)
{
    size_t n = 0;
    for (size_t step = 1; step <= HISTORY_STEPS; step++)
        n += step_exists(model, step);
    return n;
}

rf_status model_file_write(const char *path, const rf_buffer *bytes, rf_error *err)
{
    rf_new_file f = {0};
    rf_status st = rf_new_file_open(&f, path, err);
    if (st == RF_OK)
        st = rf_new_file_add(&f, bytes->data, bytes->len, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&f, err);
    rf_new_file_abandon(&f);
    return st;
}

/* Moves the steps up to the first gap by one, so that step 1 is free. */
static rf_status make_room(const char *model, rf_error *err)
{
    char from[RF_PATH_MAX], to[RF_PATH_MAX];
    size_t gap = 1;
    while (gap < HISTORY_STEPS && step_exists(model, gap))
        gap++;
    if (!step_path(model, HISTORY_STEPS, to))
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%.80s...: the path is longer than %d bytes with \".before\"",
                       model, RF_PATH_MAX - 1);
    for (size_t step = gap; step > 1; step--) {
        step_path(model, step - 1, from);
        step_path(model, step, to);
        if (rename(from, to) != 0)
            return rf_fail_errno(err, "%s: cannot rename it to %s", from, to);
    }
    return RF_OK;
}

rf_status model_history_add(const char *model, const rf_buffer *bytes, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_status st = make_room(model, err);
    if (st != RF_OK)
        return st;
    step_path(model, 1, path);
    return model_file_write(path, bytes, err);
}

rf_status model_history_read(const char *model, rf_buffer *out, rf_error *err)
{
    char path[RF_PATH_MAX];
    size_t step = first_step(model);
    if (step > HISTORY_STEPS)
        return rf_fail(err, RF_ERR_MISSING, 0, "%s: found no model before it", model);
    step_path(model, step, path);
    return rf_file_read(path, out, err);
}

void model_history_drop(const char *model)
{
    char path[RF_PATH_MAX];
    size_t step = first_step(model);
    if (step <= HISTORY_STEPS && step_path(model, step, path))
        unlink(path);
}

void model_history_tidy(const char *model, const rf_buffer *in_service)
{
    for (bool same = true; same;) {
        rf_buffer old;
        rf_buffer_init(&old, SIZE_MAX / 2, model);
        same = model_history_read(model, &old, NULL) == RF_OK &&
               old.len == in_service->len &&
               memcmp(old.data, in_service->data, old.len) == 0;
        rf_buffer_release(&old);
        if (same)
            model_history_drop(model);
    }
}
