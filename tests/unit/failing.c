/* failing.c - an allocator that fails when told to, and the loop over all allocations */
#include "failing.h"

#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- The allocator ----------------------------------------------------------------- */

static struct {
    failing mode;
    size_t at; /* the first that fails, counted from 1 */
    atomic_size_t count;
    atomic_bool met;
} plan;

static bool refused(void)
{
    if (plan.mode == NONE)
        return false;
    size_t n = atomic_fetch_add(&plan.count, 1) + 1;
    if (plan.mode == ONE ? n != plan.at : n < plan.at)
        return false;
    atomic_store(&plan.met, true);
    errno = ENOMEM;
    return true;
}

static void arm(failing mode, size_t at)
{
    atomic_store(&plan.count, 0);
    atomic_store(&plan.met, false);
    plan.at = at;
    plan.mode = mode;
}

static bool disarm(void)
{
    plan.mode = NONE;
    return atomic_load(&plan.met);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : __real_aligned_alloc(align, size);
}

static void *jansson_malloc(size_t size)
{
    return plan.mode == ALL_FROM ? malloc(size) : __real_malloc(size);
}

static void jansson_free(void *p)
{
    free(p);
}

void failing_set_up(void)
{
    json_set_alloc_funcs(jansson_malloc, jansson_free);
}

failing failing_mode(void)
{
    return plan.mode;
}

size_t failing_count(void)
{
    return atomic_load(&plan.count);
}

/* ---- Failing in turn --------------------------------------------------------------- */

void fail_in_turn(operation run, failing mode, bool with_error)
{
    for (size_t n = 1;; n++) {
        rf_error err = {0};
        arm(mode, n);
        rf_status st = run(with_error ? &err : NULL);
        if (!disarm()) { /* more than it asks for: all have had their turn */
            if (st != RF_OK)
                fail_msg("failed without reason: %s", err.msg);
            assert_true(n > 1);
            return;
        }
        if (st == RF_OK)
            fail_msg("allocation %zu failed and nobody noticed", n);
        if (st != RF_ERR_NOMEM)
            fail_msg("allocation %zu failed: %s (%s), wanted out of memory", n,
                     rf_status_name(st), err.msg);
        if (with_error)
            assert_error(&err, RF_ERR_NOMEM, "cannot allocate");
    }
}

void fail_each(operation run)
{
    fail_in_turn(run, ONE, true);
    fail_in_turn(run, ONE, false);
    fail_in_turn(run, ALL_FROM, true);
    fail_in_turn(run, ALL_FROM, false);
}

rf_status status_of(const void *made, const rf_error *err)
{
    if (made)
        return RF_OK;
    return err ? err->code : RF_ERR_NOMEM;
}

size_t files_in(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}
