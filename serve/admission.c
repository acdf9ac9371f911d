/* admission.c - checks on a request that need only its headers: route, access, size */
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *http_header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

bool admission_refuse_large(exchange *x)
{
    x->close = true;
    return problem_set(&x->refusal, 413, "body_too_large",
                       "the body is larger than %zu bytes", x->service->o.max_body_bytes);
}

bool admission_memory_full(exchange *x)
{
    held *h = &x->service->held;
    return atomic_load(&h->bytes) >= h->most && !problem_memory_full(&x->refusal);
}

static bool has_method(const char *allow, const char *method)
{
    size_t len = strlen(method);
    for (const char *at = allow; len && (at = strstr(at, method)); at += len)
        if ((at == allow || at[-1] == ' ') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

/* ---- Access ------------------------------------------------------------------------ */

/* "localhost:8080", "127.0.0.1", "[::1]:80"; HTTP/1.0 may have no host. */
static bool is_loopback_name(const char *host)
{
    if (!host)
        return true;
    size_t name = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    return (name == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           (name == 5 && strncmp(host, "[::1]", 5) == 0) ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == name);
}

/* A server without a token serves anybody on this machine, and that includes a browser
 * that runs other people's pages. So Host must be a loopback name (DNS rebinding makes
 * other names resolve to us), and Origin our own page or an allowed one. */
static bool check_origin(exchange *x, struct MHD_Connection *c)
{
    const serve_options *o = &x->service->o;
    const char *host = http_header(c, "Host"), *origin = http_header(c, "Origin");
    const char *scheme_end = origin ? strstr(origin, "://") : NULL;
    if (x->service->tokens.n > 0 || o->insecure)
        return true;
    if (!is_loopback_name(host))
        return problem_set(&x->refusal, 403, "forbidden",
                           "found Host: %.80s, wanted a name of this machine; to serve "
                           "others, require a token (--token-file) or use --insecure",
                           host);
    if (!origin || (scheme_end && host && strcasecmp(scheme_end + 3, host) == 0))
        return true;
    if (o->allow_origin &&
        (strcmp(o->allow_origin, "*") == 0 || strcmp(o->allow_origin, origin) == 0))
        return true;
    return problem_set(&x->refusal, 403, "forbidden",
                       "found Origin: %.80s, wanted our own page; --allow-origin admits "
                       "another",
                       origin);
}

bool admission_may_write(const exchange *x, struct MHD_Connection *c, char who[WHO_MAX],
                         problem *p)
{
    const service *s = x->service;
    const char *host = http_header(c, "Host"), *origin = http_header(c, "Origin");
    const char *scheme_end = origin ? strstr(origin, "://") : NULL;
    size_t token = tokens_find(&s->tokens, http_header(c, "Authorization"));
    if (token)
        snprintf(who, WHO_MAX, "token %zu", token);
    else
        snprintf(who, WHO_MAX, "page");
    if (token)
        return true;
    if (s->tokens.n == 0 && !s->o.insecure && is_loopback_name(host) && host &&
        scheme_end && strcasecmp(scheme_end + 3, host) == 0)
        return true;
    return problem_set(p, 403, "forbidden",
                       "found %s, wanted a token (--token-file), or a request of our own "
                       "page on this machine",
                       origin ? "a request of another page" : "no token");
}

bool admission_check(exchange *x, struct MHD_Connection *c, const char *url,
                     const char *method)
{
    service *s = x->service;
    problem *p = &x->refusal;
    x->route = route_find(url);
    if (!x->route)
        return problem_set(p, 404, "not_found",
                           "there is nothing here; see /openapi.json");
    x->endpoint = x->route->endpoint;
    if (!x->route->open && !check_origin(x, c))
        return false;
    if (strcmp(method, "OPTIONS") == 0 && s->o.allow_origin)
        return true; /* browsers send it without the token */
    if (!x->route->open && !tokens_allow(&s->tokens, http_header(c, "Authorization")))
        return problem_set(p, 401, "unauthorized",
                           "found no valid token, wanted Authorization: Bearer TOKEN");
    if (!has_method(x->route->allow, method))
        return problem_set(p, 405, "method_not_allowed", "wanted %s", x->route->allow);
    const char *length = http_header(c, "Content-Length");
    if (length && strtoull(length, NULL, 10) > s->o.max_body_bytes)
        return admission_refuse_large(x);
    x->posts = strcmp(method, "POST") == 0;
    x->takes_body = x->posts && x->route->takes_body;
    return x->route->open || x->endpoint == ENDPOINT_METRICS || !admission_memory_full(x);
}
