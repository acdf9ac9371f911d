/* listener.h - the socket that clients come to */
#ifndef RF_SERVE_LISTENER_H
#define RF_SERVE_LISTENER_H

#include "base/error.h"

typedef struct listener {
    int fd;
    char where[80]; /* "127.0.0.1:8080", with the port that it has */
} listener;

/* address is HOST:PORT; an IPv6 host stands in brackets; port 0: any that is free. With
 * only_loopback other addresses are RF_ERR_ARG. */
rf_status listener_open(listener *l, const char *address, bool only_loopback,
                        rf_error *err);

#endif
