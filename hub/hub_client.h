/*
 * hub_client.h - a client of the Hugging Face hub: the rf_hub_transport of the program
 *
 *   hub_client *c = hub_client_open(&options, &err);
 *   if (c && rf_hub_get(name, hub_client_transport(c), progress, user, &err) != RF_OK)
 * ... hub_client_close(c);
 *
 * HTTPS with libcurl. A program that was built without it has hub_none.c instead, where
 * opening fails and says so.
 */
#ifndef RF_HUB_CLIENT_H
#define RF_HUB_CLIENT_H

#include "base/error.h"
#include "ringfence_hub.h"

typedef struct hub_options {
    const char *endpoint; /* NULL: the hub itself */
    const char *token;    /* NULL or "": none. Sent to the endpoint's own host only */
    const char *ca_file;  /* certificates to trust; NULL: those of the system */
    const char *ca_dir;
    size_t retries; /* attempts in a row that bring nothing, after the first */
    double
        retry_wait; /* seconds before the second attempt; each next waits twice as long */
    size_t stall;   /* seconds without progress until a connection is given up */

    /* Called every second or more often; total -1: not known. Anything but 0 stops the
     * client with RF_ERR_STOPPED. */
    int (*progress)(void *user, const char *name, int64_t done, int64_t total);
    void *user;
} hub_options;

typedef struct hub_client hub_client;

/* Borrows the strings in options. */
hub_client *hub_client_open(const hub_options *options, rf_error *err);
void hub_client_close(hub_client *c); /* accepts NULL */

const rf_hub_transport *hub_client_transport(hub_client *c);

#endif
