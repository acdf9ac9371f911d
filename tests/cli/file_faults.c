/*
 * file_faults.c - kills a program, or fills the disk, at the n-th thing it does to files
 *
 * Preloaded (LD_PRELOAD) into ringfence. Counted are calls of write, pwrite, fsync,
 * rename and unlink. RF_FAULT_AT is n, from 1, and RF_FAULT what happens then:
 *
 *   kill   SIGKILL; if it is a write, when half of the bytes are written
 *   full   this and every later write, rename and fsync of a file fails with ENOSPC; the
 *          first write still writes half of its bytes, as on a disk that fills up
 */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

typedef enum fault { NONE, KILL, FULL, STILL_FULL } fault;

static fault next_fault(void)
{
    static atomic_ulong calls;
    const char *what = getenv("RF_FAULT"), *at = getenv("RF_FAULT_AT");
    unsigned long n = at ? strtoul(at, NULL, 10) : 0,
                  call = atomic_fetch_add(&calls, 1) + 1;
    if (!what || n == 0 || call < n)
        return NONE;
    if (strcmp(what, "kill") == 0)
        return KILL;
    return call == n ? FULL : STILL_FULL;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static ssize_t no_space(void)
{
    errno = ENOSPC;
    return -1;
}

SHOWN ssize_t write(int fd, const void *bytes, size_t n)
{
    fault f = next_fault();
    if (f == STILL_FULL || (f == FULL && n < 2))
        return no_space();
    ssize_t done = syscall(SYS_write, fd, bytes, f == NONE ? n : n / 2);
    if (f == KILL)
        die();
    return done;
}

SHOWN ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    fault f = next_fault();
    if (f == STILL_FULL || (f == FULL && n < 2))
        return no_space();
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, f == NONE ? n : n / 2, at);
    if (f == KILL)
        die();
    return done;
}

SHOWN int fsync(int fd)
{
    fault f = next_fault();
    if (f == KILL)
        die();
    struct stat s;
    bool is_file = fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
    return f == NONE || !is_file ? (int)syscall(SYS_fsync, fd) : (int)no_space();
}

SHOWN int rename(const char *from, const char *to)
{
    fault f = next_fault();
    if (f == KILL)
        die();
    return f == NONE ? (int)syscall(SYS_rename, from, to) : (int)no_space();
}

SHOWN int unlink(const char *path)
{
    if (next_fault() == KILL)
        die();
    return (int)syscall(SYS_unlink, path);
}
