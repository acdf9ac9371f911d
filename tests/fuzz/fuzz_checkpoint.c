/*
 * fuzz_checkpoint.c - a checkpoint with arbitrary changes, under a proper seal
 *
 * The first byte says of which file, known.ckpt or heads-0.ckpt; the rest is a list of
 * changes (changes.h). A training resumes from it, or refuses with words. What it trains
 * can be saved and loaded.
 */
#include "changes.h"

#include "base/file.h"

#include <ringfence.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *const names[] = {"known.ckpt", "heads-0.ckpt"};
enum { FILES = 2 };
static char dir[64], paths[FILES][100];
static rf_mapping originals[FILES];
static sealed good[FILES];
static rf_dataset *data;

static void must(bool fine)
{
    if (!fine)
        abort();
}

static void clean_up(void)
{
    rf_dir_remove(dir);
}

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    must(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
}

static rf_model *train(rf_error *err)
{
    rf_train_options o = rf_train_options_default();
    o.encoder = GOLDEN_DIR "/tiny/encoder";
    o.settings = "epochs=1 head_steps=1 head_negatives=2 batch=4";
    o.threads = 1;
    o.dev_share = -1;
    o.map_points = -1;
    o.max_tokens = 4;
    o.checkpoint = dir;
    o.resume = true;
    return rf_train(data, NULL, &o, err);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    rf_error err = {0};
    snprintf(dir, sizeof dir, "%s/ringfence-fuzz-ckpt-%d",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    must(mkdir(dir, 0700) == 0);
    atexit(clean_up);
    data = rf_dataset_new(NULL);
    for (size_t i = 0; i < 4; i++)
        must(rf_dataset_add(data, i % 2 ? "my parcel" : "hello you", 9, i % 2 ? "a" : "b",
                            1, NULL) == RF_OK);
    rf_model *m = train(&err);
    must(m);
    rf_model_free(m);
    for (size_t i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", dir, names[i]);
        must(rf_mapping_copy(&originals[i], paths[i], &err) == RF_OK);
        must(sealed_take_apart(&good[i], originals[i].data, originals[i].len));
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    rf_error err = {0};
    size_t which = len ? bytes[0] % FILES : 0, n;
    unsigned char *file =
        len ? changes_apply(&good[which], bytes + 1, len - 1, &n) : NULL;
    if (!file)
        return 0;
    for (size_t i = 0; i < FILES; i++)
        write_file(paths[i], i == which ? (void *)file : (void *)originals[i].data,
                   i == which ? n : originals[i].len);
    free(file);
    rf_model *m = train(&err);
    if (!m) {
        must(err.code != RF_OK && err.msg[0]);
        return 0;
    }
    void *saved;
    size_t saved_len;
    must(rf_model_save_bytes(m, NULL, &saved, &saved_len, &err) == RF_OK);
    rf_model_free(m);
    m = rf_model_load_bytes(saved, saved_len, "trained", &err);
    must(m);
    rf_model_free(m);
    free(saved);
    return 0;
}
