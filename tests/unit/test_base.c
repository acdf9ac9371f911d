/* test_base.c - buffers, paths, atomic directories, digests, programs, teams */
#include "base/buffer.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char root[RF_PATH_MAX];

static int make_root(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/ringfence-base", tmp && *tmp ? tmp : "/tmp");
    char made[RF_PATH_MAX];
    if (rf_dir_make_beside(root, made, NULL) != RF_OK)
        return 1;
    memcpy(root, made, sizeof root);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    rf_dir_remove(root);
    return rf_file_exists(root);
}

static const char *in_root(const char *name)
{
    static char path[RF_PATH_MAX];
    assert_int_equal(rf_path_join(path, root, name, NULL), RF_OK);
    return path;
}

static void a_buffer_stops_at_its_ceiling(void **state)
{
    (void)state;
    rf_buffer b;
    rf_error err = {0};
    rf_buffer_init(&b, 10, "labels");
    assert_int_equal(rf_buffer_add(&b, "12345", 5, &err), RF_OK);
    assert_int_equal(rf_buffer_add(&b, "67890", 5, &err), RF_OK);
    assert_string_equal(b.data, "1234567890");
    assert_int_equal(rf_buffer_add(&b, "x", 1, &err), RF_ERR_LIMIT);
    assert_string_equal(err.msg, "labels: more than 10 bytes");
    assert_int_equal(rf_buffer_reserve(&b, SIZE_MAX, NULL), RF_ERR_LIMIT);
    assert_int_equal(b.len, 10);
    rf_buffer_release(&b);
    rf_buffer_release(&b);
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    size_t n;
    assert_false(rf_size_mul(SIZE_MAX, 2, &n));
    assert_false(rf_size_add(SIZE_MAX, 1, &n));
    assert_true(rf_size_mul(1u << 20, 1u << 20, &n));
    assert_null(rf_floats_new(SIZE_MAX / 2));
    float *p = rf_floats_new(3);
    assert_int_equal((uintptr_t)p % 64, 0);
    free(p);
}

static void files_and_directories(void **state)
{
    (void)state;
    char beside[RF_PATH_MAX], target[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    snprintf(target, sizeof target, "%s", in_root("a/b/c"));
    assert_int_equal(rf_dir_make(in_root("a/b"), &err), RF_OK);
    assert_int_equal(rf_dir_make_beside(target, beside, &err), RF_OK);
    rf_path_join(path, beside, "f", NULL);
    assert_int_equal(rf_file_write(path, "abc", 3, &err), RF_OK);
    assert_int_equal(rf_file_write(path, "abc", 3, &err),
                     RF_ERR_IO); /* never overwritten */
    assert_false(rf_file_exists(target));
    assert_int_equal(rf_dir_publish(beside, target, &err), RF_OK);
    assert_false(rf_file_exists(beside));

    assert_int_equal(rf_dir_make_beside(target, beside, &err), RF_OK);
    assert_int_equal(rf_dir_publish(beside, target, &err), RF_ERR_IO); /* nor this */
    assert_non_null(strstr(err.msg, "File exists"));
    rf_path_join(path, target, "f", NULL);

    rf_mapping mapping;
    assert_int_equal(rf_mapping_open(&mapping, path, &err), RF_OK);
    assert_int_equal(mapping.len, 3);
    assert_memory_equal(mapping.data, "abc", 3);
    rf_mapping_close(&mapping);
    rf_mapping_close(&mapping);
    assert_int_equal(rf_mapping_open(&mapping, target, &err), RF_ERR_FORMAT);
    assert_int_equal(rf_mapping_open(&mapping, in_root("none"), &err), RF_ERR_MISSING);
    assert_int_equal(rf_mapping_open(&mapping, in_root("none"), NULL), RF_ERR_MISSING);
    assert_int_equal(mkfifo(in_root("fifo"), 0600), 0); /* must not block */
    assert_int_equal(rf_mapping_open(&mapping, in_root("fifo"), &err), RF_ERR_FORMAT);
}

static void a_full_disk_is_noticed(void **state)
{
    (void)state;
    rf_error err = {0};
    if (!rf_file_exists("/dev/full"))
        skip();
    assert_int_equal(symlink("/dev/full", in_root("full")), 0);
    /* rf_file_write makes new files only, so a link to a device is refused */
    assert_int_equal(rf_file_write(in_root("full"), "x", 1, &err), RF_ERR_IO);
}

/* FIPS 180-2, appendix B */
static void digests(void **state)
{
    (void)state;
    char hex[RF_SHA256_HEX];
    assert_int_equal(rf_file_write(in_root("abc"), "abc", 3, NULL), RF_OK);
    assert_int_equal(rf_sha256_file(in_root("abc"), hex, NULL), RF_OK);
    assert_string_equal(
        hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(rf_file_write(in_root("empty"), "", 0, NULL), RF_OK);
    assert_int_equal(rf_sha256_file(in_root("empty"), hex, NULL), RF_OK);
    assert_string_equal(
        hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void json_is_measured_before_it_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t depth, values; /* it has, or a little more */
    } cases[] = {{"", 0, 1},
                 {"{}", 1, 2},
                 {"[[],[],[]]", 2, 7},
                 {"{\"a\": [1, 2, {\"b\": null}]}", 3, 6},
                 {"[\"]}[{,\\\",\", \"\\\\\", 1]", 1, 4},
                 {"]]]][", 1, 2},
                 {"\"[[[[", 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *t = cases[i].text;
        size_t n = strlen(t), depth = cases[i].depth, values = cases[i].values;
        assert_int_equal(rf_json_shape(t, n, depth, values), RF_JSON_FITS);
        assert_int_equal(rf_json_shape(t, n, depth, values - 1),
                         values > 1 ? RF_JSON_TOO_MANY : RF_JSON_FITS);
        if (depth > 0)
            assert_int_equal(rf_json_shape(t, n, depth - 1, values), RF_JSON_TOO_DEEP);
    }
}

static void programs(void **state)
{
    (void)state;
    int code = -1;
    rf_error err = {0};
    char log[RF_PATH_MAX];
    snprintf(log, sizeof log, "%s", in_root("log"));
    const char *const ok[] = {"sh", "-c", "echo words; echo more >&2; exit 3", NULL};
    assert_int_equal(rf_process_run(ok, log, &code, &err), RF_OK);
    assert_int_equal(code, 3);
    rf_buffer b;
    rf_buffer_init(&b, 100, "log");
    assert_int_equal(rf_file_read(log, &b, NULL), RF_OK);
    assert_string_equal(b.data, "words\nmore\n");
    rf_buffer_release(&b);
    const char *const none[] = {"no-such-program-here", NULL};
    assert_int_equal(rf_process_run(none, log, &code, &err), RF_ERR_MISSING);
    const char *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
    assert_int_equal(rf_process_run(killed, log, &code, &err), RF_ERR_IO);
    assert_non_null(strstr(err.msg, "signal 9"));
}

typedef struct relay {
    rf_team *team;
    size_t rounds;
    size_t turns[8]; /* plain memory: only the barriers order the accesses */
    atomic_size_t wrong;
} relay;

/* In each round every member writes its own number and, past the barrier, reads all. */
static void run_relay(void *arg, size_t member, size_t members)
{
    relay *r = arg;
    for (size_t round = 1; round <= r->rounds; round++) {
        r->turns[member] = round;
        rf_team_barrier(r->team);
        for (size_t i = 0; i < members; i++)
            if (r->turns[i] != round)
                atomic_fetch_add(&r->wrong, 1);
        rf_team_barrier(r->team);
    }
}

static void teams_meet(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 6; threads++) {
        relay r = {.team = rf_team_new(threads, NULL), .rounds = 50};
        assert_non_null(r.team);
        assert_int_equal(rf_team_size(r.team), threads);
        for (int job = 0; job < 20; job++) {
            memset(r.turns, 0, sizeof r.turns);
            if (job == 10) { /* long enough for the others to fall asleep */
                struct timespec pause = {.tv_nsec = 5000000};
                nanosleep(&pause, NULL);
            }
            rf_team_run(r.team, run_relay, &r);
            for (size_t i = 0; i < threads; i++)
                assert_int_equal(r.turns[i], r.rounds);
        }
        assert_int_equal(atomic_load(&r.wrong), 0);
        rf_team_free(r.team);
    }
    rf_team_free(NULL);
    assert_null(rf_team_new(0, NULL));
    assert_true(rf_cpu_count() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_stops_at_its_ceiling),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(files_and_directories),
        cmocka_unit_test(a_full_disk_is_noticed),
        cmocka_unit_test(digests),
        cmocka_unit_test(json_is_measured_before_it_is_read),
        cmocka_unit_test(programs),
        cmocka_unit_test(teams_meet),
    };
    return cmocka_run_group_tests_name("base", tests, make_root, remove_root);
}
