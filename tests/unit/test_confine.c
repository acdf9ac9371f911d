/* test_confine.c - files are written where it was allowed, and nowhere else (Landlock) */
#define _GNU_SOURCE
#include "confine.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char inside[RF_PATH_MAX], outside[RF_PATH_MAX];

static long version(void)
{
    return syscall(444, NULL, 0, 1); /* landlock_create_ruleset, for its version */
}

static int write_to(const char *dir, const char *name)
{
    char path[RF_PATH_MAX];
    scratch_path(path, dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int rename_to(const char *dir)
{
    char from[RF_PATH_MAX], to[RF_PATH_MAX];
    scratch_path(from, inside, "new");
    scratch_path(to, dir, "renamed");
    return rename(from, to) == 0 ? 0 : errno;
}

static void *in_a_thread(void *result)
{
    *(int *)result = write_to(outside, "thread");
    return NULL;
}

/* What a child finds when it is confined to `inside`; the number of the line if it is not
 * as it should be. */
static int confined(void)
{
    char model[RF_PATH_MAX], path[RF_PATH_MAX];
    int result = 0;
    pthread_t thread;
    char *const argv[] = {"true", NULL};
#define WANT(fine)                                                                       \
    if (!(fine))                                                                         \
    return __LINE__ % 256
    scratch_path(model, inside, "model.rf");
    WANT(confine_writes((const char *const[]){model, NULL, "/not/there/x"}, 3));
    WANT(write_to(inside, "new") == 0);
    WANT(write_to(inside, "new") == 0); /* truncated */
    WANT(rename_to(inside) == 0);
    WANT(write_to(inside, "new") == 0);
    WANT(write_to(outside, "new") == EACCES);
    WANT(write_to(outside, "old") == EACCES);
    WANT(write_to("/tmp", "ringfence-confined") == EACCES);
    result = rename_to(outside);
    WANT(result == EACCES || result == EXDEV);
    scratch_path(path, outside, "old");
    WANT(unlink(path) != 0 && errno == EACCES);
    WANT(access(path, R_OK) == 0 && open(path, O_RDONLY) >= 0);
    scratch_path(path, outside, "dir");
    WANT(mkdir(path, 0700) != 0 && errno == EACCES);
    scratch_path(path, inside, "renamed");
    WANT(unlink(path) == 0);
    WANT(execv("/bin/true", argv) != 0 && errno == EACCES);
    result = 0;
    WANT(pthread_create(&thread, NULL, in_a_thread, &result) == 0 &&
         pthread_join(thread, NULL) == 0 && result == EACCES);
    return 0;
}

static void writes_stay_inside(void **state)
{
    (void)state;
    if (version() < 1) {
        print_message("SKIPPED: this kernel has no Landlock\n");
        skip();
    }
    scratch_make(inside);
    scratch_make(outside);
    scratch_write(outside, "old", "x", 1);
    int code;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(confined());
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0); /* the line that was not as it should be */
    assert_int_equal(write_to(outside, "new"), 0); /* this process is free */
    scratch_remove(inside);
    scratch_remove(outside);
}

/* Without a slash it is the current directory. */
static void relative_names(void **state)
{
    (void)state;
    if (version() < 1) {
        print_message("SKIPPED: this kernel has no Landlock\n");
        skip();
    }
    scratch_make(inside);
    scratch_make(outside);
    int code;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(chdir(inside) == 0 &&
                      confine_writes((const char *const[]){"model.rf"}, 1) &&
                      write_to(inside, "new") == 0 && write_to(outside, "new") == EACCES
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    scratch_remove(inside);
    scratch_remove(outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_stay_inside),
                                       cmocka_unit_test(relative_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
