/*
 * fuzz_import.c - a whole import: a good ONNX file with changes
 *
 * The input is a list of changes of four bytes: a place (17 bits) and a byte for it, or,
 * if the highest bit is set, where 16 bytes for it come from. An import leaves an encoder
 * that can be loaded, or nothing.
 */
#include "base/file.h"
#include "encoder/encoder.h"

#include <ringfence_encoder.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64], file[100], out[100];
static rf_mapping good;
static unsigned char *changed;

static void must(bool fine)
{
    if (!fine)
        abort();
}

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    must(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
}

static void copy(const char *name)
{
    char from[RF_PATH_MAX], to[RF_PATH_MAX];
    rf_mapping m;
    snprintf(from, sizeof from, GOLDEN_DIR "/tiny/onnx/%s", name);
    snprintf(to, sizeof to, "%s/%s", dir, name);
    must(rf_mapping_open(&m, from, NULL) == RF_OK);
    write_file(to, m.data, m.len);
    rf_mapping_close(&m);
}

static void clean_up(void)
{
    rf_dir_remove(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    snprintf(dir, sizeof dir, "%s/ringfence-fuzz-import-%d",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    must(mkdir(dir, 0700) == 0);
    atexit(clean_up);
    copy("config.json");
    copy("vocab.txt");
    copy("tokenizer_config.json");
    snprintf(file, sizeof file, "%s/model.onnx", dir);
    snprintf(out, sizeof out, "%s/out", dir);
    must(rf_mapping_open(&good, GOLDEN_DIR "/tiny/onnx/model.onnx", NULL) == RF_OK);
    changed = malloc(good.len);
    must(changed);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rf_error err = {0};
    memcpy(changed, good.data, good.len);
    for (size_t i = 0; i + 4 <= size; i += 4) {
        const uint8_t *d = data + i;
        size_t at = (d[0] | (size_t)d[1] << 8 | (size_t)(d[2] & 1) << 16) % good.len;
        size_t from = (size_t)d[3] * 479 % good.len;
        if (d[2] & 128 && at + 16 <= good.len && from + 16 <= good.len)
            memcpy(changed + at, (const unsigned char *)good.data + from, 16);
        else
            changed[at] = d[3];
    }
    write_file(file, changed, good.len);
    if (rf_encoder_import(file, out, &err) != RF_OK) {
        must(err.msg[0] && !rf_file_exists(out));
        return 0;
    }
    rf_encoder *e = rf_encoder_load(out, &err);
    must(e);
    rf_encoder_free(e);
    rf_dir_remove(out);
    return 0;
}
