/*
 * odd_system.c - simulates an unusual system for a server
 *
 * Preloaded (LD_PRELOAD) into `ringfence serve`. The time of day is an hour ahead of what
 * the kernel uses for timed waits, as if the clock had been set back. The name
 * "two-addresses" resolves to ::1 and 127.0.0.1, in that order, and there is no IPv6.
 * Looking up "hangup" sends SIGHUP to the process. RF_TRY is a path: whenever a client
 * connects, the process tries to write a file of that name, to run /bin/true and to
 * connect to a TCP port, as an intruder would, and says on standard error what came of
 * it.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int clock_gettime(clockid_t clock, struct timespec *t)
{
    int code = (int)syscall(SYS_clock_gettime, clock, t);
    if (code == 0 && clock == CLOCK_REALTIME)
        t->tv_sec += 3600;
    return code;
}

SHOWN int socket(int family, int type, int protocol)
{
    if (family == AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, family, type, protocol);
}

SHOWN int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                      struct addrinfo **out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (strcmp(host, "hangup") == 0) {
        kill(getpid(), SIGHUP);
        host = "127.0.0.1";
    }
    if (strcmp(host, "two-addresses") != 0)
        return real(host, port, hints, out);
    int code = real("::1", port, hints, out);
    return code ? code : real("127.0.0.1", port, hints, &(*out)->ai_next);
}

static const char *result(int code)
{
    return code >= 0 ? "done" : strerrorname_np(errno);
}

static void intrude(const char *path)
{
    char line[300], *const argv[] = {"true", NULL};
    struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(9)};
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    const char *written = result(file);
    pid_t child = fork();
    if (child == 0) {
        execv("/bin/true", argv);
        _exit(errno);
    }
    int status = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    waitpid(child, &status, 0);
    const char *run = WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "done";
    const char *connected =
        result(connect(fd, (struct sockaddr *)&nobody, sizeof nobody));
    int n = snprintf(line, sizeof line, "intruder: write %s, run %s, connect %s\n",
                     written, run, connected);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
        abort();
    close(fd);
    if (file >= 0)
        close(file);
}

SHOWN int accept4(int fd, __SOCKADDR_ARG address, socklen_t *len, int flags)
{
    int got = (int)syscall(SYS_accept4, fd, address.__sockaddr__, len, flags);
    const char *path = getenv("RF_TRY");
    if (got >= 0 && path)
        intrude(path);
    return got;
}
