/* listener.h - the listening socket */
#ifndef RF_SERVE_LISTENER_H
#define RF_SERVE_LISTENER_H

#include "base/error.h"

typedef struct listener {
    int fd;
    char address[80]; /* "127.0.0.1:8080", with the actual port */
} listener;

/* address is HOST:PORT, with brackets around an IPv6 host; port 0: any free one. With
 * only_loopback, other addresses are RF_ERR_ARG. */
rf_status listener_open(listener *l, const char *address, bool only_loopback,
                        rf_error *err);

#endif
