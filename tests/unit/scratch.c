/* scratch.c - temporary directories, whole files, checks of messages */
#include "scratch.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scratch_make(char dir[RF_PATH_MAX])
{
    const char *base = getenv("TMPDIR");
    snprintf(dir, RF_PATH_MAX, "%s/ringfence-test.XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(dir))
        fail_msg("%s: cannot make directory", dir);
}

void scratch_remove(const char *dir)
{
    rf_dir_remove(dir);
}

void scratch_path(char path[RF_PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(path, RF_PATH_MAX, "%s/%s", dir, name);
    assert_in_range(n, 1, RF_PATH_MAX - 1);
}

void scratch_write(const char *dir, const char *name, const void *bytes, size_t len)
{
    char path[RF_PATH_MAX];
    scratch_path(path, dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || (len > 0 && fwrite(bytes, 1, len, f) != len) || fclose(f) != 0)
        fail_msg("%s: cannot write", path);
}

void scratch_copy(const char *from, const char *dir, const char *name)
{
    char path[RF_PATH_MAX];
    size_t len;
    scratch_path(path, from, name);
    char *bytes = scratch_read(path, &len);
    scratch_write(dir, name, bytes, len);
    free(bytes);
}

void scratch_encoder(const char *dir, const char *variant)
{
    static const char *const names[] = {"config.json", "model.safetensors", "vocab.txt",
                                        "tokenizer_config.json"};
    char from[RF_PATH_MAX];
    scratch_path(from, GOLDEN_DIR "/tiny", variant);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        scratch_copy(from, dir, names[i]);
}

char *scratch_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        fail_msg("%s: cannot open", path);
    long size = ftell(f);
    assert_true(size >= 0);
    rewind(f);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    if (fread(bytes, 1, (size_t)size, f) != (size_t)size)
        fail_msg("%s: cannot read", path);
    fclose(f);
    bytes[size] = '\0';
    if (len)
        *len = (size_t)size;
    return bytes;
}

void scratch_assert_error(const rf_error *err, rf_status code, const char *const *parts,
                          const char *file, int line)
{
    bool good = err->code == code;
    if (!good)
        print_error("status: %s, wanted %s\n", rf_status_name(err->code),
                    rf_status_name(code));
    for (const char *const *p = parts; *p; p++)
        if (!strstr(err->msg, *p)) {
            print_error("\"%s\" is not in the message\n", *p);
            good = false;
        }
    if (!good) {
        print_error("message: %s\n", err->msg);
        _fail(file, line);
    }
}
