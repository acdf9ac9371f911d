/*
 * fail_malloc.c - makes allocations of the workers of a server fail
 *
 * Preloaded (LD_PRELOAD) into `ringfence serve`. While the file named by RF_FAIL_FILE is
 * there, every RF_FAIL_EVERY-th allocation in a thread whose name begins with "rf-worker"
 * fails. Other threads are not affected. Nothing here allocates or uses thread-local
 * storage, as both could call malloc.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#define WORKER "rf-worker"

/* glibc's own functions, exported for this purpose. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static bool in_worker(void)
{
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 && strncmp(name, WORKER, strlen(WORKER)) == 0;
}

static bool fails(void)
{
    static atomic_ulong calls;
    int before = errno;
    bool now = false;
    if (in_worker()) {
        const char *file = getenv("RF_FAIL_FILE"), *every = getenv("RF_FAIL_EVERY");
        unsigned long n = every ? strtoul(every, NULL, 10) : 0;
        if (file && n > 0 && access(file, F_OK) == 0)
            now = atomic_fetch_add(&calls, 1) % n == n - 1;
    }
    errno = now ? ENOMEM : before;
    return now;
}

SHOWN void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

SHOWN void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

SHOWN void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

SHOWN void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

SHOWN int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = fails() ? NULL : __libc_memalign(alignment, size);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}
