/*
 * fail_calls.c - the n-th fallible call of a program fails, and that one alone
 *
 * Preloaded (LD_PRELOAD) into ringfence. From the beginning of main on, calls are
 * counted: allocations, or calls to the system, threads included (RF_CALLS=memory or
 * system). RF_FAIL_AT is n, from 1; 0 counts only. When the program ends, RF_CALLS_FILE
 * gets a line: the number of calls, the blocks of memory that are not freed, and the name
 * of the call that failed.
 *
 * Nothing here allocates. Standard output and error are never failed: they are how a
 * program complains.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* it has open and read inline */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

/* glibc's own functions, exported for this purpose. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

static atomic_ulong calls;
static atomic_long blocks;
static atomic_bool counting;
static bool of_memory;
static unsigned long fail_at;
static const char *_Atomic failed = "nothing";

static void report(void)
{
    const char *path = getenv("RF_CALLS_FILE");
    int flags = O_WRONLY | O_CREAT | O_TRUNC;
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600) : -1;
    char line[100];
    int n = snprintf(line, sizeof line, "%lu %ld %s\n", atomic_load(&calls),
                     atomic_load(&blocks), failed);
    if (fd >= 0 && n > 0 && syscall(SYS_write, fd, line, (size_t)n) == n)
        syscall(SYS_close, fd);
}

static bool fails(bool memory, const char *name, int error)
{
    if (!atomic_load(&counting) || memory != of_memory)
        return false;
    if (atomic_fetch_add(&calls, 1) + 1 != fail_at)
        return false;
    failed = name;
    report(); /* in case the end is not reached */
    errno = error;
    return true;
}

/* Event counters in the kernel do not fail, and libmicrohttpd relies on them. */
static bool is_counter(int fd)
{
    struct statx s;
    int before = errno;
    bool counter = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &s) == 0 &&
                   (s.stx_mode & S_IFMT) == 0;
    errno = before;
    return counter;
}

/* ---- Begin and end ----------------------------------------------------------------- */

static void at_end(void)
{
    atomic_store(&counting, false);
    report();
}

typedef int main_function(int, char **, char **);
static main_function *program;

static int counted_main(int argc, char **argv, char **env)
{
    const char *kind = getenv("RF_CALLS"), *at = getenv("RF_FAIL_AT");
    of_memory = kind && strcmp(kind, "memory") == 0;
    fail_at = at ? strtoul(at, NULL, 10) : 0;
    atexit(at_end);
    atomic_store(&counting, true);
    return program(argc, argv, env);
}

/* Calls before main are those of other libraries' constructors. */
SHOWN int __libc_start_main(main_function *f, int argc, char **argv, main_function *init,
                            void (*fini)(void), void (*loader)(void), void *stack)
{
    int (*real)(main_function *, int, char **, main_function *, void (*)(void),
                void (*)(void), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    program = f;
    return real(counted_main, argc, argv, init, fini, loader, stack);
}

/* ---- Memory ------------------------------------------------------------------------ */

static void *counted(void *p)
{
    if (p && atomic_load(&counting))
        atomic_fetch_add(&blocks, 1);
    return p;
}

SHOWN void *malloc(size_t size)
{
    return fails(true, "malloc", ENOMEM) ? NULL : counted(__libc_malloc(size));
}

SHOWN void *calloc(size_t n, size_t size)
{
    return fails(true, "calloc", ENOMEM) ? NULL : counted(__libc_calloc(n, size));
}

SHOWN void *realloc(void *p, size_t size)
{
    if (fails(true, "realloc", ENOMEM))
        return NULL;
    void *q = __libc_realloc(p, size);
    return p ? q : counted(q);
}

SHOWN void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(true, "aligned_alloc", ENOMEM)
               ? NULL
               : counted(__libc_memalign(alignment, size));
}

SHOWN int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p =
        fails(true, "posix_memalign", ENOMEM) ? NULL : __libc_memalign(alignment, size);
    if (!p)
        return ENOMEM;
    *out = counted(p);
    return 0;
}

SHOWN void free(void *p)
{
    if (p && atomic_load(&counting))
        atomic_fetch_sub(&blocks, 1);
    __libc_free(p);
}

/* ---- The system -------------------------------------------------------------------- */

/* A call of libc by the same name. */
#define REAL(type, name, ...)                                                            \
    static type (*real)(__VA_ARGS__);                                                    \
    if (!real)                                                                           \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

SHOWN ssize_t read(int fd, void *bytes, size_t n)
{
    return !is_counter(fd) && fails(false, "read", EIO) ? -1
                                                        : syscall(SYS_read, fd, bytes, n);
}

SHOWN ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
    return fails(false, "pread", EIO) ? -1 : syscall(SYS_pread64, fd, bytes, n, at);
}

SHOWN ssize_t pread64(int fd, void *bytes, size_t n, off_t at)
{
    return pread(fd, bytes, n, at);
}

SHOWN ssize_t write(int fd, const void *bytes, size_t n)
{
    return fd > 2 && !is_counter(fd) && fails(false, "write", ENOSPC)
               ? -1
               : syscall(SYS_write, fd, bytes, n);
}

SHOWN ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return fails(false, "pwrite", ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, bytes, n, at);
}

SHOWN ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
    return pwrite(fd, bytes, n, at);
}

SHOWN int fsync(int fd)
{
    return fails(false, "fsync", EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

SHOWN int fdatasync(int fd)
{
    return fails(false, "fdatasync", EIO) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

SHOWN int rename(const char *from, const char *to)
{
    return fails(false, "rename", EIO) ? -1 : (int)syscall(SYS_rename, from, to);
}

SHOWN int ftruncate(int fd, off_t n)
{
    return fails(false, "ftruncate", ENOSPC) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(more, unsigned) : 0;
}

SHOWN int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return fails(false, "open", EMFILE)
               ? -1
               : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

SHOWN int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return open(path, flags, mode);
}

SHOWN FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, const char *, const char *);
    return fails(false, "fopen", EMFILE) ? NULL : real(path, mode);
}

SHOWN int fstat(int fd, struct stat *out)
{
    REAL(int, fstat, int, struct stat *);
    return fails(false, "fstat", EIO) ? -1 : real(fd, out);
}

SHOWN int mkstemp(char *path)
{
    REAL(int, mkstemp, char *);
    return fails(false, "mkstemp", EMFILE) ? -1 : real(path);
}

SHOWN FILE *tmpfile(void)
{
    REAL(FILE *, tmpfile, void);
    return fails(false, "tmpfile", EMFILE) ? NULL : real();
}

SHOWN int posix_fallocate(int fd, off_t from, off_t n)
{
    REAL(int, posix_fallocate, int, off_t, off_t);
    return fails(false, "posix_fallocate", ENOSPC) ? ENOSPC : real(fd, from, n);
}

SHOWN int renameat2(int from_dir, const char *from, int to_dir, const char *to,
                    unsigned flags)
{
    return fails(false, "renameat2", EIO)
               ? -1
               : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

SHOWN off_t lseek(int fd, off_t at, int whence)
{
    return fails(false, "lseek", EIO) ? -1 : syscall(SYS_lseek, fd, at, whence);
}

SHOWN int mkdir(const char *path, mode_t mode)
{
    return fails(false, "mkdir", ENOSPC)
               ? -1
               : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

SHOWN void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    REAL(void *, mmap, void *, size_t, int, int, int, off_t);
    return fails(false, "mmap", ENOMEM) ? MAP_FAILED
                                        : real(at, n, protection, flags, fd, from);
}

SHOWN int socket(int domain, int type, int protocol)
{
    return fails(false, "socket", EMFILE)
               ? -1
               : (int)syscall(SYS_socket, domain, type, protocol);
}

/* The types of glibc's headers, unions that stand for any kind of address. */
SHOWN int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t len)
{
    return fails(false, "bind", EADDRINUSE)
               ? -1
               : (int)syscall(SYS_bind, fd, address.__sockaddr__, len);
}

SHOWN int listen(int fd, int backlog)
{
    return fails(false, "listen", EADDRINUSE) ? -1
                                              : (int)syscall(SYS_listen, fd, backlog);
}

SHOWN int accept4(int fd, __SOCKADDR_ARG address, socklen_t *len, int flags)
{
    return fails(false, "accept4", EMFILE)
               ? -1
               : (int)syscall(SYS_accept4, fd, address.__sockaddr__, len, flags);
}

SHOWN ssize_t recvfrom(int fd, void *bytes, size_t n, int flags, __SOCKADDR_ARG address,
                       socklen_t *len)
{
    return fails(false, "recvfrom", ECONNRESET)
               ? -1
               : syscall(SYS_recvfrom, fd, bytes, n, flags, address.__sockaddr__, len);
}

SHOWN ssize_t recv(int fd, void *bytes, size_t n, int flags)
{
    return fails(false, "recv", ECONNRESET)
               ? -1
               : syscall(SYS_recvfrom, fd, bytes, n, flags, 0, 0);
}

SHOWN ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
    return fails(false, "send", ECONNRESET)
               ? -1
               : syscall(SYS_sendto, fd, bytes, n, flags, 0, 0);
}

SHOWN int eventfd(unsigned value, int flags)
{
    return fails(false, "eventfd", EMFILE) ? -1
                                           : (int)syscall(SYS_eventfd2, value, flags);
}

SHOWN int epoll_create1(int flags)
{
    return fails(false, "epoll_create1", EMFILE) ? -1
                                                 : (int)syscall(SYS_epoll_create1, flags);
}

SHOWN int pipe2(int fds[2], int flags)
{
    return fails(false, "pipe2", EMFILE) ? -1 : (int)syscall(SYS_pipe2, fds, flags);
}

SHOWN int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*f)(void *),
                         void *with)
{
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *),
         void *);
    return fails(false, "pthread_create", EAGAIN) ? EAGAIN : real(thread, how, f, with);
}
