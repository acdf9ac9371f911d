/* lab_set.c - reads a data set and runs or loads its frozen layers */
#include "lab/lab_set.h"

#include "base/clock.h"
#include "data/dataset.h"
#include "stages/training.h"
#include "num/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum of tokens per text in the published protocol, with [CLS] and [SEP]. */
static const struct {
    const char *set;
    size_t max_tokens;
} published[] = {{"banking", 55}, {"oos", 30}, {"stackoverflow", 45}};

static const char *const part_names[RF_LAB_PARTS] = {"train", "dev", "test", "open"};

/* ---- Reading ----------------------------------------------------------------------- */

static rf_status find_file(const char *dir, const char *name, char path[RF_PATH_MAX],
                           bool *found, rf_error *err)
{
    static const char *const endings[] = {".tsv",    ".csv",    ".jsonl",
                                          ".tsv.gz", ".csv.gz", ".jsonl.gz"};
    *found = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !*found; i++) {
        char file[32];
        snprintf(file, sizeof file, "%s%s", name, endings[i]);
        rf_status st = rf_path_join(path, dir, file, err);
        if (st != RF_OK)
            return st;
        *found = rf_file_exists(path);
    }
    return RF_OK;
}

static rf_status read_part(rf_lab_set *set, rf_lab_part part, const rf_lab_set_options *o,
                           rf_error *err)
{
    char path[RF_PATH_MAX];
    bool found;
    if (part == RF_LAB_OPEN) {
        set->data[part] =
            o->open_texts ? rf_dataset_read_texts(o->open_texts, err) : NULL;
        return set->data[part] || !o->open_texts ? RF_OK : err->code;
    }
    rf_status st = find_file(o->dir, part_names[part], path, &found, err);
    if (st != RF_OK)
        return st;
    if (!found && part == RF_LAB_DEV)
        return RF_OK;
    if (!found)
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%s: no %s.tsv, .csv or .jsonl; a set is a directory with train, "
                       "dev and test",
                       o->dir, part_names[part]);
    rf_data_options options = o->data ? *o->data : rf_data_options_default();
    if (!o->data && rf_format_of_name(path) == RF_DATA_TSV)
        options.raw_tsv = true;
    rf_dataset *data = set->data[part] = rf_dataset_read(path, &options, err);
    if (!data)
        return err->code;
    for (size_t c = 0; part == RF_LAB_TRAIN && c < rf_dataset_classes(data); c++)
        if (strcmp(rf_dataset_label(data, c, NULL), "open") == 0)
            return rf_fail(
                err, RF_ERR_FORMAT, 0,
                "%s: a class is called \"open\", which is the answer for texts "
                "of no class",
                path);
    return RF_OK;
}

/* Starts with the row count, so that a row moved to the next part changes the hash. */
static void hash_texts(rf_sha256 *h, const rf_dataset *data, bool labels)
{
    uint64_t rows = data ? rf_dataset_rows(data) : UINT64_MAX;
    rf_sha256_add(h, &rows, sizeof rows);
    for (size_t i = 0; data && i < rows; i++) {
        size_t len;
        const char *text = rf_dataset_text(data, i, &len);
        uint64_t n = len;
        rf_sha256_add(h, &n, sizeof n);
        rf_sha256_add(h, text, len);
        if (labels) {
            const char *label = rf_dataset_label(data, rf_dataset_class(data, i), NULL);
            rf_sha256_add(h, label, strlen(label) + 1);
        }
    }
}

static void finish_hash(rf_sha256 *h, char hex[RF_SHA256_HEX])
{
    unsigned char digest[RF_SHA256_SIZE];
    rf_sha256_end(h, digest);
    rf_sha256_text(hex, digest);
}

rf_status rf_lab_set_open(rf_lab_set *set, const rf_lab_set_options *o, rf_error *err)
{
    rf_error local;
    err = err ? err : &local;
    *set = (rf_lab_set){.max_tokens = o->max_tokens};
    rf_status st = RF_OK;
    for (size_t i = 0; i < RF_LAB_PARTS && st == RF_OK; i++)
        st = read_part(set, (rf_lab_part)i, o, err);
    if (st != RF_OK) {
        rf_lab_set_close(set);
        return st;
    }
    const char *name = strrchr(o->dir, '/') ? strrchr(o->dir, '/') + 1 : o->dir;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (set->max_tokens == 0 && strcmp(name, published[i].set) == 0)
            set->max_tokens = published[i].max_tokens;
    rf_sha256 h;
    rf_sha256_init(&h);
    for (size_t i = RF_LAB_TRAIN; i <= RF_LAB_TEST; i++)
        hash_texts(&h, set->data[i], true);
    finish_hash(&h, set->texts_sha256);
    rf_sha256_init(&h);
    hash_texts(&h, set->data[RF_LAB_OPEN], false);
    finish_hash(&h, set->open_sha256);
    return RF_OK;
}

static void close_frozen(rf_lab_set *set)
{
    for (size_t i = 0; i < RF_LAB_PARTS; i++) {
        free(set->frozen[i].offsets);
        set->frozen[i] = (rf_activations){0};
        rf_container_close(&set->files[i]);
    }
}

void rf_lab_set_close(rf_lab_set *set)
{
    close_frozen(set);
    for (size_t i = 0; i < RF_LAB_PARTS; i++)
        rf_dataset_free(set->data[i]);
    *set = (rf_lab_set){0};
}

/* ---- The frozen layers ------------------------------------------------------------- */

typedef struct encoding {
    rf_lab_set *set;
    const rf_lab_set_options *o;
    const rf_encoder *e;
    const char *encoder_hash;
    size_t layer, max_tokens;
    rf_team *team;
    rf_error *err;
} encoding;

/* What the cached file of a part depends on, and its path. */
static json_t *identify(const encoding *f, rf_lab_part part, char name[RF_PATH_MAX])
{
    char texts[RF_SHA256_HEX], hex[RF_SHA256_HEX];
    rf_sha256 h;
    rf_sha256_init(&h);
    hash_texts(&h, f->set->data[part], false);
    finish_hash(&h, texts);
    json_t *id = json_pack("{s:s, s:s, s:I, s:I, s:s, s:s}", "program", RF_VERSION,
                           "encoder", f->encoder_hash, "layer", (json_int_t)f->layer,
                           "max_tokens", (json_int_t)f->max_tokens, "texts", texts,
                           "kernels", rf_kernels_name());
    char *text = id ? json_dumps(id, JSON_COMPACT) : NULL;
    if (!text) {
        json_decref(id);
        return NULL;
    }
    rf_sha256_bytes(text, strlen(text), hex);
    free(text);
    snprintf(name, RF_PATH_MAX, "%s/frozen-%.16s.st", f->o->cache, hex);
    return id;
}

static rf_status compute(const encoding *f, rf_lab_part part, rf_activations *a)
{
    const rf_dataset *data = f->set->data[part];
    size_t n = rf_dataset_rows(data);
    const char **texts = calloc(n + 1, sizeof *texts);
    size_t *lens = calloc(n + 1, sizeof *lens);
    rf_status st =
        texts && lens ? RF_OK : rf_fail_nomem(f->err, n * sizeof *texts, "the texts");
    for (size_t i = 0; i < n && st == RF_OK; i++)
        texts[i] = rf_dataset_text(data, i, &lens[i]);
    rf_activation_options o = {.layer = f->layer,
                               .max_tokens = f->max_tokens,
                               .cache_bytes = (size_t)1 << 30,
                               .cache_dir = f->o->cache,
                               .done = f->o->done,
                               .user = f->o->user};
    if (st == RF_OK)
        st = rf_activations_init(a, f->e, texts, lens, n, &o, f->team, f->err);
    free(texts);
    free(lens);
    return st;
}

static rf_status write_file(const encoding *f, const char *path, json_t *id,
                            const rf_activations *a, double seconds)
{
    json_t *root = json_pack("{s:O, s:f}", "identity", id, "seconds", seconds);
    char *json = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!json)
        return rf_fail_nomem(f->err, 1024, "a description");
    const rf_section sections[] = {{.name = "offsets",
                                    .dtype = RF_I64,
                                    .rank = 1,
                                    .shape = {a->n_texts + 1},
                                    .data = a->offsets},
                                   {.name = "states",
                                    .dtype = RF_F32,
                                    .rank = 2,
                                    .shape = {a->offsets[a->n_texts], a->width},
                                    .data = a->states}};
    rf_status st = rf_container_write(path, "frozen", json, sections, 2, f->err);
    free(json);
    return st;
}

/* The name has only part of the hash, and files can be copied by hand. */
static rf_status check_identity(const rf_container *file, const json_t *id,
                                const char *path, rf_error *err)
{
    return json_equal(json_object_get(file->json, "identity"), id)
               ? RF_OK
               : rf_fail(err, RF_ERR_FORMAT, 0,
                         "%s: its content does not match its name; remove it", path);
}

static rf_status read_file(const encoding *f, const char *path, const json_t *id,
                           rf_lab_part part)
{
    rf_container *file = &f->set->files[part];
    rf_activations *a = &f->set->frozen[part];
    size_t n = rf_dataset_rows(f->set->data[part]), shape[] = {n + 1};
    rf_status st = rf_container_open(file, path, "frozen", f->err);
    if (st == RF_OK)
        st = check_identity(file, id, path, f->err);
    if (st != RF_OK)
        return st;
    const rf_tensor *offsets =
        rf_container_find(file, "offsets", RF_I64, 1, shape, f->err);
    size_t wanted[] = {RF_ANY_SIZE, f->e->config.width};
    const rf_tensor *states =
        offsets ? rf_container_find(file, "states", RF_F32, 2, wanted, f->err) : NULL;
    if (!states)
        return RF_ERR_FORMAT;
    *a = (rf_activations){.n_texts = n,
                          .width = f->e->config.width,
                          .layer = f->layer,
                          .n_tokens = states->shape[0],
                          .states = (float *)(uintptr_t)states->data};
    a->offsets = calloc(n + 1, sizeof *a->offsets);
    if (!a->offsets)
        return rf_fail_nomem(f->err, (n + 1) * sizeof *a->offsets, "texts");
    const int64_t *from = (const int64_t *)(const void *)offsets->data;
    for (size_t i = 0; i <= n; i++) {
        a->offsets[i] = (size_t)from[i];
        if ((i == 0 ? from[0] != 0 : from[i] <= from[i - 1]) ||
            (i == n && a->offsets[n] != states->shape[0]))
            return rf_fail(f->err, RF_ERR_FORMAT, i,
                           "%s: tensor \"offsets\": element %zu is %lld, wanted rising "
                           "numbers from 0 to %zu",
                           path, i, (long long)from[i], states->shape[0]);
        size_t tokens = i > 0 ? a->offsets[i] - a->offsets[i - 1] : 0;
        a->longest = tokens > a->longest ? tokens : a->longest;
    }
    if (!rf_kernels()->all_finite(a->states, states->count))
        return rf_fail(f->err, RF_ERR_NUMERIC, 0, "%s: a NaN or an infinity", path);
    f->set->seconds += json_number_value(json_object_get(file->json, "seconds"));
    return RF_OK;
}

static rf_status encode_part(const encoding *f, rf_lab_part part)
{
    char path[RF_PATH_MAX];
    json_t *id = identify(f, part, path);
    if (!id)
        return rf_fail_nomem(f->err, 1024, "a description");
    rf_status st = RF_OK;
    if (!rf_file_exists(path)) {
        double start = rf_clock_seconds();
        rf_activations a = {0};
        st = compute(f, part, &a);
        if (st == RF_OK)
            st = write_file(f, path, id, &a, rf_clock_seconds() - start);
        rf_activations_release(&a);
    }
    if (st == RF_OK)
        st = read_file(f, path, id, part);
    json_decref(id);
    return st;
}

rf_status rf_lab_set_encode(rf_lab_set *set, const rf_lab_set_options *o,
                            const rf_encoder *e, const char *encoder_hash, size_t layer,
                            rf_team *team, rf_error *err)
{
    rf_error local;
    encoding f = {.set = set,
                  .o = o,
                  .e = e,
                  .encoder_hash = encoder_hash,
                  .layer = layer,
                  .max_tokens = set->max_tokens,
                  .team = team,
                  .err = err ? err : &local};
    size_t limit = e->config.positions < 512 ? e->config.positions : 512;
    if (f.max_tokens == 0 || f.max_tokens > limit)
        f.max_tokens = set->max_tokens = limit;
    close_frozen(set);
    set->seconds = 0.0;
    rf_status st = rf_dir_make(o->cache, f.err);
    for (size_t i = 0; i < RF_LAB_PARTS && st == RF_OK; i++)
        if (set->data[i])
            st = encode_part(&f, (rf_lab_part)i);
    if (st != RF_OK)
        close_frozen(set);
    return st;
}

size_t rf_lab_class(const rf_dataset *train, const char *label)
{
    size_t low = 0, high = rf_dataset_classes(train); /* in byte order */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(rf_dataset_label(train, mid, NULL), label);
        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return RF_OPEN;
}
