/*
 * odd_system.c - simulates an unusual system for a server
 *
 * Preloaded (LD_PRELOAD) into `ringfence serve`. The time of day is an hour ahead of what
 * the kernel uses for timed waits, as if the clock had been set back. The name
 * "two-addresses" resolves to ::1 and 127.0.0.1, in that order, and there is no IPv6.
 * Looking up "hangup" sends SIGHUP to the process.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
