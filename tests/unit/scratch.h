/*
 * scratch.h - throw-away directories, whole files, and errors that say the right thing
 *
 *   char dir[RF_PATH_MAX];
 *   scratch_make(dir);
 *   scratch_copy(GOLDEN_DIR "/tiny/encoder", dir, "vocab.txt");
 *   scratch_write(dir, "config.json", "{}", 2);
 *   assert_null(rf_encoder_load(dir, &err));
 *   assert_error(&err, RF_ERR_FORMAT, "config.json", "num_hidden_layers");
 *   scratch_remove(dir);
 *
 * Whatever goes wrong here fails the running test.
 */
#ifndef RF_TEST_SCRATCH_H
#define RF_TEST_SCRATCH_H

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A new, empty directory below $TMPDIR or /tmp. */
void scratch_make(char dir[RF_PATH_MAX]);

/* Remove it with all that is in it. */
void scratch_remove(const char *dir);

/* dir + "/" + name */
void scratch_path(char path[RF_PATH_MAX], const char *dir, const char *name);

/* A file in dir with these bytes, in place of an older one. */
void scratch_write(const char *dir, const char *name, const void *bytes, size_t len);

/* dir/name as a copy of from/name. */
void scratch_copy(const char *from, const char *dir, const char *name);

/* The four files of a golden tiny encoder ("encoder", "encoder_f16", "encoder_bf16"). */
void scratch_encoder(const char *dir, const char *variant);

/* The whole of a file, followed by a NUL; the caller's. len may be NULL. */
char *scratch_read(const char *path, size_t *len);

/* The error has this code, and its message holds each of the given parts. */
#define assert_error(err, code, ...)                                                     \
    scratch_assert_error((err), (code), (const char *const[]){__VA_ARGS__, NULL},        \
                         __FILE__, __LINE__)
void scratch_assert_error(const rf_error *err, rf_status code, const char *const *parts,
                          const char *file, int line);

#endif
