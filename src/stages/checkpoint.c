/* checkpoint.c - write and read the files of a checkpoint directory */
#include "stages/checkpoint.h"

#include "base/file.h"
#include "model/container.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIND "checkpoint"
#define KNOWN_FILE "known.ckpt"
#define REPORT_FLOATS (sizeof(rf_class_report) / sizeof(float))

/* ---- The directory ----------------------------------------------------------------- */

/* Record locks vanish with their process, however it ends. */
static rf_status take_lock(rf_checkpoint *c, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_status st = rf_path_join(path, c->dir, "lock", err);
    if (st != RF_OK)
        return st;
    c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (c->lock < 0)
        return rf_fail_errno(err, "%s: cannot open", path);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(c->lock, F_SETLK, &whole) == 0)
        return RF_OK;
    if (errno == EACCES || errno == EAGAIN)
        return rf_fail(err, RF_ERR_ARG, 0, "%s: another training is using this directory",
                       c->dir);
    return rf_fail_errno(err, "%s: cannot lock", path);
}

void rf_checkpoint_close(rf_checkpoint *c)
{
    if (c->dir[0] && c->lock >= 0)
        close(c->lock);
    json_decref(c->identity);
    *c = (rf_checkpoint){.lock = -1};
}

/* ---- Files with the identity of their training ------------------------------------- */

static rf_status write_file(rf_checkpoint *c, const char *name, json_t *json,
                            const rf_section *sections, size_t n, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_buffer text;
    rf_buffer_init(&text, 16 << 20, "checkpoint");
    rf_status st = rf_path_join(path, c->dir, name, err);
    if (st == RF_OK && (!json || json_object_set(json, "identity", c->identity) != 0))
        st = rf_fail_nomem(err, 1024, "a checkpoint");
    if (st == RF_OK)
        st = rf_json_write(json, &text, err);
    if (st == RF_OK)
        st = rf_container_write(path, KIND, text.data, sections, n, err);
    rf_buffer_release(&text);
    return st;
}

/* Opens a file if it exists; fails if it belongs to another training. */
static rf_status read_file(rf_checkpoint *c, const char *name, rf_container *file,
                           bool *found, rf_error *err)
{
    char path[RF_PATH_MAX];
    *found = false;
    rf_status st = rf_path_join(path, c->dir, name, err);
    if (st != RF_OK || !c->resume || !rf_file_exists(path))
        return st;
    st = rf_container_open(file, path, KIND, err);
    if (st != RF_OK)
        return st;
    const char *key;
    json_t *want, *identity = json_object_get(file->json, "identity");
    json_object_foreach(c->identity, key, want)
    {
        json_t *got = json_object_get(identity, key);
        if (!json_equal(got, want)) {
            const char *text = json_string_value(got);
            st = rf_fail(err, RF_ERR_ARG, 0,
                         "%s: made by another training: %s was %.80s, is now %.80s", path,
                         key, text ? text : rf_json_type(got), json_string_value(want));
            rf_container_close(file);
            return st;
        }
    }
    *found = true;
    return RF_OK;
}

rf_status rf_checkpoint_open(rf_checkpoint *c, const char *dir, bool resume,
                             const json_t *identity, rf_error *err)
{
    *c = (rf_checkpoint){.lock = -1, .resume = resume};
    if (!dir)
        return RF_OK;
    if (!*dir || strlen(dir) >= sizeof c->dir)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "checkpoint: found a path of %zu bytes, wanted 1 to %d",
                       strlen(dir), RF_PATH_MAX - 1);
    snprintf(c->dir, sizeof c->dir, "%s", dir);
    c->identity = json_deep_copy(identity);
    rf_status st = c->identity ? rf_dir_make(dir, err)
                               : rf_fail_nomem(err, 1024, "the checkpoint's identity");
    if (st == RF_OK)
        st = take_lock(c, err);
    char path[RF_PATH_MAX];
    rf_container file = {0};
    bool found;
    if (st == RF_OK)
        st = rf_path_join(path, dir, KNOWN_FILE, err);
    if (st == RF_OK && resume) { /* refuse another training's files before any work */
        st = read_file(c, KNOWN_FILE, &file, &found, err);
        rf_container_close(&file);
    } else if (st == RF_OK && rf_file_exists(path))
        st = rf_fail(err, RF_ERR_ARG, 0,
                     "%s: holds the checkpoint of an earlier training; resume it, or "
                     "remove the directory",
                     dir);
    if (st != RF_OK)
        rf_checkpoint_close(c);
    return st;
}

/* The numbers of `key`, exactly n of them: integers or reals. */
static rf_status read_numbers(const rf_container *file, const char *key, double *out,
                              size_t n, rf_error *err)
{
    json_t *list = json_object_get(file->json, key);
    bool good = json_is_array(list) && json_array_size(list) == n;
    for (size_t i = 0; i < n && good; i++) {
        json_t *x = json_array_get(list, i);
        good = json_is_number(x);
        out[i] = json_number_value(x);
    }
    return good ? RF_OK
                : rf_fail(err, RF_ERR_FORMAT, 0, "%s: \"%s\": wanted %zu numbers",
                          file->file.name, key, n);
}

static rf_status read_floats(const rf_container *file, const char *name, float *out,
                             size_t n, rf_error *err)
{
    rf_error local;
    const rf_tensor *t =
        rf_container_find(file, name, RF_F32, 1, (const size_t[]){n}, err ? err : &local);
    if (!t)
        return err ? err->code : local.code;
    memcpy(out, t->data, n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out[i]))
            return rf_fail(err, RF_ERR_FORMAT, t->offset,
                           "%s: tensor \"%s\" holds a number that is not finite",
                           file->file.name, name);
    return RF_OK;
}

static bool is_share(float x)
{
    return (x >= 0.0f && x <= 1.0f) || x == -1.0f;
}

/* They become part of the model's description. */
static rf_status check_reports(const rf_container *file, const rf_class_report *r,
                               size_t n, rf_error *err)
{
    for (size_t i = 0; i < n; i++, r++)
        if (!(r->steps >= 0.0f && r->steps <= 1e9f && r->radius >= 0.0f &&
              is_share(r->recall) && is_share(r->dev_recall)))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: the report of class %zu is no report: steps %g, radius "
                           "%g, recall %g and %g",
                           file->file.name, i, (double)r->steps, (double)r->radius,
                           (double)r->recall, (double)r->dev_recall);
    return RF_OK;
}

static rf_section floats_section(const char *name, const float *data, size_t n)
{
    rf_section s = {.dtype = RF_F32, .rank = 1, .shape = {n}, .data = data};
    snprintf(s.name, sizeof s.name, "%s", name);
    return s;
}

/* ---- Stage 1 ----------------------------------------------------------------------- */

rf_status rf_checkpoint_save_known(rf_checkpoint *c, rf_fine_tune *t, rf_error *err)
{
    if (!c->dir[0])
        return RF_OK;
    size_t n;
    const rf_fine_tune_array *a = rf_fine_tune_arrays(t, &n);
    const rf_fine_tune_state *s = rf_fine_tune_where(t);
    rf_section *sections = calloc(n, sizeof *sections);
    if (!sections)
        return rf_fail_nomem(err, n * sizeof *sections, "a checkpoint");
    for (size_t i = 0; i < n; i++)
        sections[i] = floats_section(a[i].name, a[i].data, a[i].n);
    json_t *json = json_pack("{s:[I, I, f, f, f, f]}", "known", (json_int_t)s->epoch,
                             (json_int_t)s->best_epoch, s->best_accuracy, s->best_loss,
                             s->loss, s->accuracy);
    rf_status st = write_file(c, KNOWN_FILE, json, sections, n, err);
    json_decref(json);
    free(sections);
    return st;
}

rf_status rf_checkpoint_load_known(rf_checkpoint *c, rf_fine_tune *t, bool *found,
                                   rf_error *err)
{
    rf_container file = {0};
    double x[6] = {0};
    size_t n;
    *found = false;
    if (!c->dir[0])
        return RF_OK;
    rf_status st = read_file(c, KNOWN_FILE, &file, found, err);
    if (st != RF_OK || !*found)
        return st;
    const rf_fine_tune_array *a = rf_fine_tune_arrays(t, &n);
    st = read_numbers(&file, "known", x, 6, err);
    for (size_t i = 0; i < n && st == RF_OK; i++)
        st = read_floats(&file, a[i].name, a[i].data, a[i].n, err);
    rf_container_close(&file);
    if (st == RF_OK && !(x[1] >= 0.0 && x[1] <= x[0] && x[0] <= 1e9 &&
                         x[0] == floor(x[0]) && x[1] == floor(x[1])))
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s/%s: the best epoch is %g of %g, wanted whole numbers in order",
                     c->dir, KNOWN_FILE, x[1], x[0]);
    if (st != RF_OK)
        return st;
    *rf_fine_tune_where(t) = (rf_fine_tune_state){.epoch = (size_t)x[0],
                                                  .best_epoch = (size_t)x[1],
                                                  .best_accuracy = x[2],
                                                  .best_loss = x[3],
                                                  .loss = x[4],
                                                  .accuracy = x[5]};
    rf_fine_tune_refresh(t);
    return RF_OK;
}

/* ---- Stage 2 ----------------------------------------------------------------------- */

static void heads_name(char name[64], size_t from)
{
    snprintf(name, 64, "heads-%zu.ckpt", from);
}

/* Floats that the first n classes of a part have learnt. */
static size_t learnt_floats(const rf_fit_part *part, size_t n)
{
    size_t heads = 0;
    for (size_t i = 0; i < n; i++)
        heads += !part->has || part->has[i];
    return heads * part->floats;
}

rf_status rf_checkpoint_save_part(rf_checkpoint *c, const rf_fit_part *part,
                                  rf_error *err)
{
    if (!c->dir[0])
        return RF_OK;
    char name[64];
    heads_name(name, part->from);
    const rf_section sections[2] = {
        floats_section("heads", part->learnt, learnt_floats(part, part->n)),
        floats_section("reports", (const float *)(const void *)part->reports,
                       part->n * REPORT_FLOATS)};
    json_t *json =
        json_pack("{s:[I, I]}", "heads", (json_int_t)part->from, (json_int_t)part->n);
    rf_status st = write_file(c, name, json, sections, 2, err);
    json_decref(json);
    return st;
}

rf_status rf_checkpoint_load_part(rf_checkpoint *c, rf_fit_part *part, rf_error *err)
{
    rf_container file = {0};
    char name[64];
    double range[2] = {0};
    bool found = false;
    size_t most = part->n, count = 0;
    part->n = 0;
    if (!c->dir[0])
        return RF_OK;
    heads_name(name, part->from);
    rf_status st = read_file(c, name, &file, &found, err);
    if (st != RF_OK || !found)
        return st;
    st = read_numbers(&file, "heads", range, 2, err);
    if (st == RF_OK &&
        (range[0] != (double)part->from || range[1] < 1.0 || range[1] > (double)most))
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: found %.0f heads from %.0f on, wanted 1 "
                     "to %zu from %zu on",
                     file.file.name, range[1], range[0], most, part->from);
    if (st == RF_OK) {
        count = (size_t)range[1];
        st = read_floats(&file, "heads", part->learnt, learnt_floats(part, count), err);
    }
    if (st == RF_OK)
        st = read_floats(&file, "reports", (float *)(void *)part->reports,
                         count * REPORT_FLOATS, err);
    if (st == RF_OK)
        st = check_reports(&file, part->reports, count, err);
    if (st == RF_OK)
        part->n = count;
    rf_container_close(&file);
    return st;
}
