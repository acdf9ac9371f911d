/* hub_url.h - where requests may go, and which of them may carry the token */
#ifndef RF_HUB_URL_H
#define RF_HUB_URL_H

#include "base/error.h"

#include <curl/curl.h>

#define HUB_ENDPOINT "https://huggingface.co"
#define HUB_URL_MAX 8192 /* bytes of an address; signed ones have about 1500 */

/* scheme://host:port of an address */
typedef struct hub_origin {
    char scheme[8];
    char host[256];
    char port[8];
} hub_origin;

typedef struct hub_endpoint {
    char base[512]; /* without a slash at the end */
    hub_origin origin;
} hub_endpoint;

/* https anywhere, or http on loopback. User names, queries and fragments are refused. */
rf_status hub_endpoint_read(hub_endpoint *e, const char *text, rf_error *err);

/* Whether a request to this address is allowed: https, or http on loopback if the
 * endpoint itself is http (so on loopback). Nothing else: no file:, no way down from
 * https. *own: it is the endpoint's scheme, host and port, so the token may be sent. */
rf_status hub_url_check(const hub_endpoint *e, const char *url, hub_origin *origin,
                        bool *own, rf_error *err);

/* The address that `location` means, seen from `url`. */
rf_status hub_url_follow(const char *url, const char *location, char out[HUB_URL_MAX],
                         rf_error *err);

#endif
