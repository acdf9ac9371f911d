/*
 * test_container.c - sealed files: they read back, any changed or missing byte is
 * noticed, other files are refused with a message, and a failed write leaves the old file
 * unchanged. Checksums are compared with those computed by sealed.c.
 */
#include "model/container.h"

#include "scratch.h"
#include "sealed.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[RF_PATH_MAX], path[RF_PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, "some.rf");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

/* ---- A small file ------------------------------------------------------------------ */

static const unsigned char bytes[3] = {7, 0, 255};
static const float floats[6] = {1.0f, -0.0f, 3.5e-39f, 3.4e38f, 0.1f, -2.0f};
static const uint16_t halves[3] = {0x3c00, 0x0001, 0xfbff};
static const int32_t ints[2] = {INT32_MIN, 5};
static const int64_t longs[2] = {INT64_MIN, INT64_MAX};

#define JSON "{\"a\":[1,2.5,\"caf\xc3\xa9 \\\"quoted\\\"\"],\"b\":{}}"

/* One float at a time. */
static rf_status write_floats(void *user, size_t index, rf_container_writer *w,
                              rf_error *err)
{
    const float *from = user;
    for (size_t i = 0; i < 6; i++) {
        if (index == i)
            return rf_fail(err, RF_ERR_STOPPED, i, "no more floats");
        rf_status st = rf_container_put(w, &from[i], sizeof *from, err);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

/* Not in the order of the file. */
#define SECTIONS 7
static rf_section sections[SECTIONS] = {
    {"bytes", RF_U8, .rank = 1, .shape = {3}, .data = bytes},
    {"floats", RF_F32, .rank = 2, .shape = {2, 3}, .write = write_floats, .index = 99},
    {"halves", RF_F16, .rank = 1, .shape = {3}, .data = halves},
    {"none", RF_F32, .rank = 2, .shape = {0, 4}, .data = NULL},
    {"ints", RF_I32, .rank = 1, .shape = {2}, .data = ints},
    {"longs", RF_I64, .rank = 1, .shape = {2}, .data = longs},
    {"scalar", RF_F32, .rank = 0, .data = floats},
};

static rf_status write_small(const char *to, rf_error *err)
{
    sections[1].user = (void *)(uintptr_t)floats;
    return rf_container_write(to, "checkpoint", JSON, sections, SECTIONS, err);
}

static void must(rf_status st, const rf_error *err)
{
    if (st != RF_OK)
        fail_msg("%s", err->msg);
}

static unsigned char *small_file(size_t *len)
{
    rf_error err = {0};
    must(write_small(path, &err), &err);
    return (unsigned char *)scratch_read(path, len);
}

/* In memory of exactly this size, to catch reads past the end. */
static rf_status parse(const unsigned char *from, size_t len, rf_error *err)
{
    rf_container c;
    unsigned char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, from, len);
    rf_status st = rf_container_parse(&c, copy, len, "small.rf", "checkpoint", err);
    if (st == RF_OK)
        rf_container_close(&c);
    free(copy);
    return st;
}

static void same(const rf_container *c, const char *name, rf_dtype dtype, size_t rank,
                 size_t n0, size_t n1, const void *data, size_t len)
{
    const size_t shape[] = {n0, n1};
    rf_error err = {0};
    const rf_tensor *t = rf_container_find(c, name, dtype, rank, shape, &err);
    if (!t)
        fail_msg("%s", err.msg);
    assert_int_equal(t->count * rf_dtype_size(dtype), len);
    assert_int_equal((uintptr_t)t->data % rf_dtype_size(dtype), 0);
    if (len)
        assert_memory_equal(t->data, data, len);
}

static void reads_back_what_was_written(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_container c;
    must(write_small(path, &err), &err);
    must(rf_container_open(&c, path, "checkpoint", &err), &err);
    same(&c, "bytes", RF_U8, 1, 3, 0, bytes, sizeof bytes);
    same(&c, "floats", RF_F32, 2, 2, 3, floats, sizeof floats);
    same(&c, "floats", RF_F32, 2, RF_ANY_SIZE, 3, floats, sizeof floats);
    same(&c, "halves", RF_F16, 1, 3, 0, halves, sizeof halves);
    same(&c, "none", RF_F32, 2, 0, 4, NULL, 0);
    same(&c, "ints", RF_I32, 1, 2, 0, ints, sizeof ints);
    same(&c, "longs", RF_I64, 1, 2, 0, longs, sizeof longs);
    same(&c, "scalar", RF_F32, 0, 0, 0, floats, sizeof floats[0]);
    json_t *want = json_loads(JSON, 0, NULL);
    assert_true(json_equal(c.json, want));
    json_decref(want);
    assert_string_equal(rf_safetensors_metadata(&c.file, "ringfence.json"), JSON);
    assert_string_equal(rf_safetensors_metadata(&c.file, "ringfence.version"), "1");
    assert_null(rf_safetensors_metadata(&c.file, "ringfence.nothing"));

    const size_t shape[] = {2, 4}, any[] = {RF_ANY_SIZE, 7};
    assert_null(rf_container_find(&c, "floats", RF_F32, 2, shape, &err));
    assert_error(&err, RF_ERR_FORMAT, path, "tensor \"floats\" is F32 [2, 3]",
                 "wanted F32 [2, 4]");
    assert_null(rf_container_find(&c, "floats", RF_F16, 1, any, &err));
    assert_error(&err, RF_ERR_FORMAT, "wanted F16 [any]");
    assert_null(rf_container_find(&c, "nothing", RF_F32, 2, any, &err));
    assert_error(&err, RF_ERR_FORMAT, "\"nothing\" is missing, wanted F32 [any, 7]");
    rf_container_close(&c);
    rf_container_close(&c);
}

/* The same input gives the same bytes, and sealed.c makes the same. */
static void same_bytes(void **state)
{
    (void)state;
    size_t lens[3];
    unsigned char *files[3];
    sealed s;
    files[0] = small_file(&lens[0]);
    files[1] = small_file(&lens[1]);
    assert_true(sealed_take_apart(&s, files[0], lens[0]));
    const char *sums = json_string_value(json_object_get(
        json_object_get(s.header, "__metadata__"), "ringfence.checksums"));
    json_t *written = json_loads(sums, 0, NULL);
    files[2] = sealed_put_together(&s, &lens[2]); /* recomputes all of them */
    sums = json_string_value(json_object_get(json_object_get(s.header, "__metadata__"),
                                             "ringfence.checksums"));
    json_t *recomputed = json_loads(sums, 0, NULL);
    assert_int_equal(json_object_size(written), SECTIONS);
    assert_true(json_equal(written, recomputed));
    /* the helper: its own seal over its own header is accepted as well */
    assert_int_equal(parse(files[2], lens[2], NULL), RF_OK);
    assert_int_equal(lens[0], lens[1]);
    assert_memory_equal(files[0], files[1], lens[0]);
    json_decref(written);
    json_decref(recomputed);
    sealed_release(&s);
    for (int i = 0; i < 3; i++)
        free(files[i]);
}

static void no_sections(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_container c;
    must(rf_container_write(path, "checkpoint", "{}", NULL, 0, &err), &err);
    must(rf_container_open(&c, path, "checkpoint", &err), &err);
    assert_int_equal(c.file.n_tensors, 1);
    rf_container_close(&c);
}

/* Large enough for several threads, damaged in two places: the first is named. */
static void large(void **state)
{
    (void)state;
    enum { N = 3 << 20 };
    rf_error err = {0};
    rf_container c;
    float *x = calloc(N, sizeof *x);
    assert_non_null(x);
    const rf_section many[] = {{"a", RF_F32, .rank = 1, .shape = {N}, .data = x},
                               {"b", RF_F32, .rank = 1, .shape = {5}, .data = x},
                               {"c", RF_F32, .rank = 1, .shape = {N / 2}, .data = x}};
    must(rf_container_write(path, "checkpoint", "{}", many, 3, &err), &err);
    must(rf_container_open(&c, path, "checkpoint", &err), &err);
    size_t offset = c.file.tensors[1].offset, end = c.file.tensors[3].offset;
    rf_container_close(&c);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fseek(f, (long)(i ? offset + 3 : end - 1), SEEK_SET), 0);
        assert_int_equal(fputc(1, f), 1);
    }
    assert_int_equal(fclose(f), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rf_container_open(&c, path, "checkpoint", &err), RF_ERR_FORMAT);
        assert_error(&err, RF_ERR_FORMAT, path, "damaged: tensor \"b\" has sha256");
        assert_int_equal(err.pos, offset);
    }
    free(x);
}

/* ---- Damage ------------------------------------------------------------------------ */

static void every_byte_changed(void **state)
{
    (void)state;
    size_t len;
    unsigned char *file = small_file(&len);
    assert_int_equal(parse(file, len, NULL), RF_OK);
    static const unsigned char changes[] = {0x01, 0x02, 0x10, 0x20, 0x80, 0xff};
    for (size_t i = 0; i < len; i++)
        for (size_t j = 0; j < sizeof changes; j++) {
            rf_error err = {0};
            file[i] ^= changes[j];
            rf_status st = parse(file, len, &err);
            if (st == RF_OK)
                fail_msg("byte %zu of %zu changed by %#x, not noticed", i, len,
                         changes[j]);
            assert_error(&err, st, "small.rf");
            assert_true(st == RF_ERR_FORMAT || st == RF_ERR_VERSION ||
                        st == RF_ERR_LIMIT);
            file[i] ^= changes[j];
        }
    assert_int_equal(parse(file, len, NULL), RF_OK);
    free(file);
}

static void truncated_or_extended(void **state)
{
    (void)state;
    size_t len;
    unsigned char *file = small_file(&len);
    for (size_t n = 0; n < len; n++) {
        rf_error err = {0};
        if (parse(file, n, &err) == RF_OK)
            fail_msg("accepted after %zu of %zu bytes", n, len);
        assert_error(&err, RF_ERR_FORMAT, "small.rf", "not a ringfence checkpoint");
    }
    unsigned char *longer = calloc(1, len + 64);
    assert_non_null(longer);
    memcpy(longer, file, len);
    for (size_t n = len + 1; n <= len + 64; n++)
        assert_int_equal(parse(longer, n, NULL), RF_ERR_FORMAT);
    free(longer);
    free(file);
}

/* ---- Other files ------------------------------------------------------------------- */

static void refuse(rf_status code, const char *a, const char *b)
{
    rf_error err = {0};
    rf_container c;
    assert_int_equal(rf_container_open(&c, path, "checkpoint", &err), code);
    assert_error(&err, code, path, a, b);
    assert_int_equal(rf_container_open(&c, path, "checkpoint", NULL), code);
    rf_container_close(&c); /* nothing to close: harmless */
}

static void other_files_are_refused(void **state)
{
    (void)state;
    refuse(RF_ERR_MISSING, "No such file", "");
    scratch_write(dir, "some.rf", "", 0);
    refuse(RF_ERR_FORMAT, "not a ringfence checkpoint, or a damaged one", "0 bytes");
    static const char text[] = "text\tlabel\nwhere is my parcel\tdelivery\n";
    scratch_write(dir, "some.rf", text, sizeof text - 1);
    refuse(RF_ERR_FORMAT, "not a ringfence checkpoint", "this is text");
    scratch_copy(GOLDEN_DIR "/tiny/encoder", dir, "model.safetensors");
    char from[RF_PATH_MAX];
    scratch_path(from, dir, "model.safetensors");
    assert_int_equal(rename(from, path), 0);
    refuse(RF_ERR_FORMAT, "not a ringfence checkpoint", "ringfence.kind");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    refuse(RF_ERR_FORMAT, "not a regular file", "");
}

/* The small file with its metadata changed, properly sealed again. */
static void with_entry(const char *key, const char *value, rf_status code, const char *a,
                       const char *b)
{
    size_t len;
    sealed s;
    unsigned char *file = small_file(&len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    sealed_set(&s, key, value);
    file = sealed_put_together(&s, &len);
    assert_non_null(file);
    scratch_write(dir, "some.rf", file, len);
    free(file);
    sealed_release(&s);
    refuse(code, a, b);
}

static void kinds_and_versions(void **state)
{
    (void)state;
    with_entry("ringfence.kind", "model", RF_ERR_FORMAT, "holds a ringfence model",
               "wanted a checkpoint");
    with_entry("ringfence.kind", NULL, RF_ERR_FORMAT, "not a ringfence checkpoint", "");
    with_entry("ringfence.version", "2", RF_ERR_VERSION,
               "some.rf: format version 2, this program knows up to 1", "");
    with_entry("ringfence.version", "10", RF_ERR_VERSION, "format version 10", "");
    with_entry("ringfence.version", "99999999999999999999", RF_ERR_VERSION,
               "version 99999999999999999999", "");
    with_entry("ringfence.version", "1.5", RF_ERR_FORMAT, "\"1.5\", wanted a number", "");
    with_entry("ringfence.version", "01", RF_ERR_FORMAT, "wanted a number", "");
    with_entry("ringfence.version", "0", RF_ERR_FORMAT, "wanted a number", "");
    with_entry("ringfence.version", "-1", RF_ERR_FORMAT, "wanted a number", "");
    with_entry("ringfence.version", "", RF_ERR_FORMAT, "wanted a number", "");
    with_entry("ringfence.version", NULL, RF_ERR_FORMAT, "wanted a number", "");
    with_entry("ringfence.json", NULL, RF_ERR_FORMAT, "ringfence.json is missing", "");
    with_entry("ringfence.checksums", NULL, RF_ERR_FORMAT,
               "ringfence.checksums is missing", "");
}

/* A header that our writer never makes, before n_data zeroes and the seal. */
static void with_header(const char *header, size_t n_data, const char *a, const char *b)
{
    sealed s = {.header = json_loads(header, 0, NULL),
                .about = json_object(),
                .data = calloc(1, n_data + 32),
                .n_data = n_data + 32};
    size_t len;
    assert_non_null(s.header);
    unsigned char *file = sealed_put_together(&s, &len);
    assert_non_null(file);
    scratch_write(dir, "some.rf", file, len);
    refuse(RF_ERR_FORMAT, a, b);
    free(file);
    sealed_release(&s);
}

#define HEAD                                                                             \
    "{\"__metadata__\":{\"ringfence.kind\":\"checkpoint\",\"ringfence.version\":\"1\"},"
#define TENSOR(name, dtype, shape, offsets)                                              \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape                             \
    ",\"data_offsets\":" offsets "}"

static void missing_seal(void **state)
{
    (void)state;
    with_header(HEAD TENSOR("x", "U8", "[32]", "[0,32]") "}", 0,
                "the last tensor is not ringfence.seal", "U8 [32]");
    with_header(HEAD TENSOR("ringfence.seal", "I8", "[32]", "[0,32]") "}", 0,
                "the last tensor is not ringfence.seal", "");
    with_header(HEAD TENSOR("ringfence.seal", "U8", "[4,8]", "[0,32]") "}", 0,
                "the last tensor is not ringfence.seal", "");
    with_header(HEAD TENSOR("ringfence.seal", "U8", "[33]", "[0,33]") "}", 1,
                "the last tensor is not ringfence.seal", "");
    with_header(HEAD TENSOR("ringfence.seal", "U8", "[32]",
                            "[0,32]") "," TENSOR("after", "U8", "[1]", "[32,33]") "}",
                1, "the last tensor is not ringfence.seal", "");
    with_header(HEAD TENSOR("odd", "U8", "[1]", "[0,1]") "," TENSOR(
                    "x", "F32", "[1]", "[1,5]") "," TENSOR("ringfence.seal", "U8", "[32]",
                                                           "[5,37]") "}",
                5, "tensor \"x\" begins at byte", "wanted a multiple of 4");
}

/* The small file with other checksums under a proper seal. */
static void with_checksums(const char *sums, const char *a, const char *b)
{
    size_t len;
    sealed s;
    unsigned char *file = small_file(&len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    sealed_set(&s, "ringfence.checksums", sums);
    s.keep_checksums = true;
    file = sealed_put_together(&s, &len);
    assert_non_null(file);
    scratch_write(dir, "some.rf", file, len);
    refuse(RF_ERR_FORMAT, a, b);
    free(file);
    sealed_release(&s);
}

static void checksums(void **state)
{
    (void)state;
    with_checksums("{}", "tensor \"longs\" has no checksum", "");
    with_checksums("[]", "ringfence.checksums: holds an array", "wanted an object");
    with_checksums("{", "ringfence.checksums: not valid JSON", "");
    with_checksums("{\"longs\":\"\",\"longs\":\"\"}", "duplicate", "");
#define ALL "\"floats\":\"\",\"halves\":\"\",\"none\":\"\",\"ints\":\"\",\"scalar\":\"\""
    with_checksums("{\"longs\":7,\"bytes\":\"\"," ALL "}", "\"longs\" has no checksum",
                   "");
    with_checksums("{\"longs\":\"\",\"bytes\":\"\"," ALL "}",
                   "damaged: tensor \"longs\" has sha256", "wanted ");
    with_checksums("{\"longs\":\"\",\"bytes\":\"\",\"more\":\"\"," ALL "}",
                   "8 checksums in ringfence.checksums, wanted 7", "");
}

static void bad_json(void **state)
{
    (void)state;
    static const char *const bad[][2] = {{"", "not valid JSON"},
                                         {"[]", "wanted an object"},
                                         {"{\"a\":1,\"a\":2}", "duplicate"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rf_error err = {0};
        must(rf_container_write(path, "checkpoint", bad[i][0], NULL, 0, &err), &err);
        refuse(RF_ERR_FORMAT, "ringfence.json", bad[i][1]);
    }
}

/* ---- Failed writes ----------------------------------------------------------------- */

static size_t files_in(const char *where)
{
    DIR *d = opendir(where);
    assert_non_null(d);
    size_t n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2; /* . and .. */
}

/* Writing fails with this code and message and leaves dir unchanged. */
static void fail_to_write(rf_status code, const char *a, const char *b)
{
    rf_error err = {0};
    size_t before = files_in(dir);
    assert_int_equal(write_small(path, &err), code);
    assert_error(&err, code, path, a, b);
    assert_int_equal(write_small(path, NULL), code);
    assert_int_equal(files_in(dir), before);
}

static void unwritable_paths(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0755), 0);
    fail_to_write(RF_ERR_IO, "is a directory", "wanted the name of a file");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
    fail_to_write(RF_ERR_IO, "is not a regular file", "");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    fail_to_write(RF_ERR_IO, "is not a regular file", "");
    assert_int_equal(unlink(path), 0);
    scratch_path(path, dir, "none/some.rf");
    fail_to_write(RF_ERR_MISSING, "cannot create a file beside it",
                  "No such file or directory; nothing was left behind");
    scratch_path(path, dir, "slash/");
    fail_to_write(RF_ERR_MISSING, "cannot create", "");
    char deep[RF_PATH_MAX + 100];
    rf_error err = {0};
    memset(deep, 'x', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_int_equal(write_small(deep, &err), RF_ERR_LIMIT);
    assert_error(&err, RF_ERR_LIMIT, "path longer than");
    deep[RF_PATH_MAX - 4] = '\0'; /* a valid path, but too long for a temporary name */
    assert_int_equal(write_small(deep, &err), RF_ERR_LIMIT);
}

static void read_only_directory(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root ignores permissions */
    assert_int_equal(chmod(dir, 0555), 0);
    fail_to_write(RF_ERR_IO, "cannot create a file beside it", "Permission denied");
    assert_int_equal(chmod(dir, 0755), 0);
}

/* Like a full disk: the file must not grow past a limit; all limits are tried. */
static void full_disk(void **state)
{
    (void)state;
    struct rlimit old, tight;
    size_t len, len_now;
    unsigned char *before = small_file(&len);
    before[len / 2] ^= 1; /* differs from what we write: the old file must stay */
    scratch_write(dir, "some.rf", before, len);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    for (size_t room = 0; room < len; room += 7) {
        rf_error err = {0};
        tight = old;
        tight.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        rf_status st = write_small(path, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(st, RF_ERR_IO);
        assert_error(&err, RF_ERR_IO, path, "cannot write: File too large",
                     "; the file that was there is unchanged");
        assert_int_equal(files_in(dir), 1);
        unsigned char *after = (unsigned char *)scratch_read(path, &len_now);
        assert_int_equal(len_now, len);
        assert_memory_equal(after, before, len);
        free(after);
    }
    tight.rlim_cur = len; /* just enough */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    rf_status st = write_small(path, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(st, RF_OK);
    free(before);
}

/* The source of a section may fail, too. */
static void failing_section_source(void **state)
{
    (void)state;
    size_t len, len_now;
    unsigned char *before = small_file(&len);
    for (size_t at = 0; at < 6; at++) {
        rf_error err = {0};
        sections[1].index = at;
        assert_int_equal(write_small(path, &err), RF_ERR_STOPPED);
        sections[1].index = 99;
        assert_error(&err, RF_ERR_STOPPED, "no more floats");
        assert_int_equal(files_in(dir), 1);
    }
    unsigned char *after = (unsigned char *)scratch_read(path, &len_now);
    assert_int_equal(len_now, len);
    assert_memory_equal(after, before, len);
    free(before);
    free(after);
}

static void permissions(void **state)
{
    (void)state;
    struct stat st;
    rf_error err = {0};
    mode_t old = umask(027);
    must(write_small(path, &err), &err);
    umask(old);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
}

/* A reader keeps the file it has opened; a link is replaced, its target is not. */
static void replacing(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_container c;
    char link[RF_PATH_MAX];
    struct stat st;
    must(write_small(path, &err), &err);
    must(rf_container_open(&c, path, "checkpoint", &err), &err);
    must(rf_container_write(path, "checkpoint", "{}", NULL, 0, &err), &err);
    same(&c, "floats", RF_F32, 2, 2, 3, floats, sizeof floats);
    rf_container_close(&c);

    scratch_path(link, dir, "link.rf");
    assert_int_equal(symlink("some.rf", link), 0);
    must(write_small(link, &err), &err);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    must(rf_container_open(&c, path, "checkpoint", &err), &err);
    assert_int_equal(c.file.n_tensors, 1);
    rf_container_close(&c);
    assert_int_equal(files_in(dir), 2);
}

/* Without a directory in the name. */
static void in_the_working_directory(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_container c;
    char old[RF_PATH_MAX];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(dir), 0);
    must(write_small("here.rf", &err), &err);
    must(rf_container_open(&c, "here.rf", "checkpoint", &err), &err);
    rf_container_close(&c);
    assert_int_equal(chdir(old), 0);
    assert_int_equal(files_in(dir), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_back_what_was_written),
        TEST(same_bytes),
        TEST(no_sections),
        TEST(large),
        TEST(every_byte_changed),
        TEST(truncated_or_extended),
        TEST(other_files_are_refused),
        TEST(kinds_and_versions),
        TEST(missing_seal),
        TEST(checksums),
        TEST(bad_json),
        TEST(unwritable_paths),
        TEST(read_only_directory),
        TEST(full_disk),
        TEST(failing_section_source),
        TEST(permissions),
        TEST(replacing),
        TEST(in_the_working_directory),
    };
    return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
