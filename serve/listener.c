/* listener.c - parse HOST:PORT, resolve it, bind and listen */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024

/* "[::1]:80" -> "::1", "80" */
static bool split_address(const char *address, char host[64], const char **port)
{
    const char *colon = strrchr(address, ':'), *end = colon;
    if (!colon || colon == address)
        return false;
    if (*address == '[') {
        address++;
        if (*--end != ']')
            return false;
    } else if (memchr(address, ':', (size_t)(colon - address)))
        return false; /* IPv6 without brackets */
    if (end - address < 1 || end - address > 63)
        return false;
    memcpy(host, address, (size_t)(end - address));
    host[end - address] = '\0';
    *port = colon + 1;
    size_t digits = strspn(*port, "0123456789");
    return digits > 0 && digits < 6 && (*port)[digits] == '\0' && atoi(*port) <= 65535;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
                24) == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(
               &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static rf_status find_own_address(listener *l, rf_error *err)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[64], port[8];
    if (getsockname(l->fd, (struct sockaddr *)&a, &len) != 0)
        return rf_fail_errno(err, "cannot get the address of the socket");
    getnameinfo((struct sockaddr *)&a, len, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(l->address, sizeof l->address, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
             host, port);
    return RF_OK;
}

static rf_status bind_to(listener *l, const struct addrinfo *a, const char *address,
                         rf_error *err)
{
    int on = 1;
    l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return rf_fail_errno(err, "--listen %s: cannot create a socket", address);
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(l->fd, a->ai_addr, a->ai_addrlen) == 0 && listen(l->fd, BACKLOG) == 0)
        return find_own_address(l, err);
    rf_status st = rf_fail_errno(err, "--listen %s: cannot listen", address);
    close(l->fd);
    l->fd = -1;
    return st;
}

rf_status listener_open(listener *l, const char *address, bool only_loopback,
                        rf_error *err)
{
    char host[64];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    *l = (listener){.fd = -1};
    if (!split_address(address, host, &port))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "--listen is \"%.100s\", wanted HOST:PORT such as 127.0.0.1:8080 "
                       "or [::1]:8080",
                       address);
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0)
        return rf_fail(err,
                       code == EAI_MEMORY   ? RF_ERR_NOMEM
                       : code == EAI_SYSTEM ? RF_ERR_IO
                                            : RF_ERR_ARG,
                       0, "--listen %s: %s", address, gai_strerror(code));
    /* A name may have addresses that this machine cannot use: IPv6 where it is off. */
    rf_status st = RF_ERR_ARG;
    for (const struct addrinfo *a = found; a && st != RF_OK; a = a->ai_next)
        st =
            only_loopback && !is_loopback(a->ai_addr)
                ? rf_fail(err, RF_ERR_ARG, 0,
                          "--listen %s: anybody who can reach this machine could use the "
                          "model; give a --token-file, or --insecure if you want that",
                          address)
                : bind_to(l, a, address, err);
    freeaddrinfo(found);
    return st;
}
