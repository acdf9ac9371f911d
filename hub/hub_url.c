/* hub_url.c - addresses taken apart by libcurl, which also makes the requests: two
 * readers of one address could be made to disagree */
#include "hub_url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "localhost", 127.0.0.0/8, [::1] */
static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    char bare[64];
    if (strcasecmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    size_t n = strlen(host);
    if (n < 3 || n >= sizeof bare || host[0] != '[' || host[n - 1] != ']')
        return false;
    snprintf(bare, sizeof bare, "%.*s", (int)(n - 2), host + 1);
    return inet_pton(AF_INET6, bare, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* One part of an address; false if it is missing or too long. */
static bool take(CURLU *url, CURLUPart part, unsigned flags, char *out, size_t cap)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return false;
    int n = snprintf(out, cap, "%s", text);
    curl_free(text);
    return n >= 0 && (size_t)n < cap;
}

static bool read_origin(CURLU *url, hub_origin *o)
{
    return take(url, CURLUPART_SCHEME, 0, o->scheme, sizeof o->scheme) &&
           take(url, CURLUPART_HOST, 0, o->host, sizeof o->host) &&
           take(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, o->port, sizeof o->port);
}

static bool has(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool there = curl_url_get(url, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return there;
}

rf_status hub_endpoint_read(hub_endpoint *e, const char *text, rf_error *err)
{
    CURLU *url = curl_url();
    rf_status st = RF_OK;
    *e = (hub_endpoint){0};
    if (!url)
        return rf_fail_nomem(err, 0, "an address");
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '/')
        n--;
    if (n < sizeof e->base)
        memcpy(e->base, text, n);
    if (n >= sizeof e->base ||
        curl_url_set(url, CURLUPART_URL, e->base, 0) != CURLUE_OK ||
        !read_origin(url, &e->origin))
        st = rf_fail(err, RF_ERR_ARG, 0,
                     "HF_ENDPOINT is \"%.200s\", wanted an address as %s", text,
                     HUB_ENDPOINT);
    else if (has(url, CURLUPART_USER) || has(url, CURLUPART_PASSWORD) ||
             has(url, CURLUPART_QUERY) || has(url, CURLUPART_FRAGMENT))
        st = rf_fail(err, RF_ERR_ARG, 0,
                     "HF_ENDPOINT has a user name, a \"?\" or a \"#\" in it, wanted an "
                     "address as %s (a token goes into HF_TOKEN)",
                     HUB_ENDPOINT);
    else if (strcmp(e->origin.scheme, "https") != 0 &&
             (strcmp(e->origin.scheme, "http") != 0 || !is_loopback(e->origin.host)))
        st = rf_fail(err, RF_ERR_ARG, 0,
                     "HF_ENDPOINT is \"%.200s\", wanted https:// (http:// is for "
                     "loopback only)",
                     text);
    curl_url_cleanup(url);
    return st;
}

rf_status hub_url_check(const hub_endpoint *e, const char *text, hub_origin *origin,
                        bool *own, rf_error *err)
{
    hub_origin o = {0};
    CURLU *url = curl_url();
    if (!url)
        return rf_fail_nomem(err, 0, "an address");
    bool readable =
        curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
        take(url, CURLUPART_SCHEME, 0, o.scheme, sizeof o.scheme);
    bool secure = strcmp(o.scheme, "https") == 0;
    bool plain = strcmp(o.scheme, "http") == 0;
    readable = readable && (!(secure || plain) || read_origin(url, &o));
    bool named = has(url, CURLUPART_USER) || has(url, CURLUPART_PASSWORD);
    curl_url_cleanup(url);
    *own = strcmp(o.scheme, e->origin.scheme) == 0 &&
           strcasecmp(o.host, e->origin.host) == 0 && strcmp(o.port, e->origin.port) == 0;
    *origin = o;
    if (!readable || named)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s redirects to an address that cannot be read", e->base);
    if (secure || (plain && strcmp(e->origin.scheme, "http") == 0 && is_loopback(o.host)))
        return RF_OK;
    return rf_fail(err, RF_ERR_FORMAT, 0,
                   "%s redirects to %s:, wanted https: all the way", e->base, o.scheme);
}

rf_status hub_url_follow(const char *from, const char *location, char out[HUB_URL_MAX],
                         rf_error *err)
{
    CURLU *url = curl_url();
    if (!url)
        return rf_fail_nomem(err, 0, "an address");
    /* Setting an address on top of another resolves it. */
    bool good = curl_url_set(url, CURLUPART_URL, from, 0) == CURLUE_OK &&
                curl_url_set(url, CURLUPART_URL, location, CURLU_NON_SUPPORT_SCHEME) ==
                    CURLUE_OK &&
                take(url, CURLUPART_URL, 0, out, HUB_URL_MAX);
    curl_url_cleanup(url);
    return good ? RF_OK
                : rf_fail(err, RF_ERR_FORMAT, 0,
                          "redirected to an address that cannot be read, or is longer "
                          "than %d bytes",
                          HUB_URL_MAX - 1);
}
