/* door.c - what can be said of a request before its body came: is it one, may it ask */
#include "service.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODIES 64 /* as large as may be, that fit into memory together */

static const char *header_of(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

bool door_too_large(exchange *x)
{
    x->close = true;
    return problem_set(&x->wrong, 413, "body_too_large",
                       "the body is larger than %zu bytes", x->service->o.max_body_bytes);
}

bool door_memory_full(exchange *x)
{
    service *s = x->service;
    if (atomic_load(&s->held) / BODIES < s->o.max_body_bytes)
        return false;
    return !problem_set(&x->wrong, 429, "queue_full",
                        "too many requests and answers are in memory; try again later");
}

static bool has_method(const char *allow, const char *method)
{
    size_t len = strlen(method);
    for (const char *at = allow; len && (at = strstr(at, method)); at += len)
        if ((at == allow || at[-1] == ' ') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

typedef struct framing {
    unsigned lengths, codings; /* headers that say where the body ends */
    unsigned hosts;            /* headers that say who is meant */
    bool odd;                  /* one that not everybody may read alike */
} framing;

static enum MHD_Result look_at_header(void *user, enum MHD_ValueKind kind,
                                      const char *name, const char *value)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"; /* RFC 9110, 5.6.2 */
    (void)kind;
    framing *f = user;
    f->lengths += strcasecmp(name, "Content-Length") == 0;
    f->hosts += strcasecmp(name, "Host") == 0;
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        f->codings++;
        f->odd |= !value || strcasecmp(value, "chunked") != 0;
    }
    f->odd |= strspn(name, token) != strlen(name); /* "Content-Length : 5" */
    return MHD_YES;
}

/* Where a request ends must be beyond doubt, or what is its body to one is another
 * request to somebody else (RFC 9112, 6.3); and so must be whom it means (3.2). */
static bool is_clear(exchange *x, struct MHD_Connection *c, const char *version)
{
    framing f = {0};
    MHD_get_connection_values(c, MHD_HEADER_KIND, look_at_header, &f);
    bool old = strcmp(version, MHD_HTTP_VERSION_1_1) != 0;
    if (f.lengths + f.codings < 2 && f.hosts < 2 && !f.odd && !(old && f.codings))
        return true;
    x->close = x->at_once = true;
    if (f.hosts > 1)
        return problem_set(&x->wrong, 400, "bad_request",
                           "found %u Host headers, wanted one", f.hosts);
    return problem_set(
        &x->wrong, 400, "bad_request",
        "found headers that do not say clearly where the body ends, wanted "
        "one Content-Length, or Transfer-Encoding: chunked");
}

/* "localhost:8080", "127.0.0.1", "[::1]:80"; none at all in HTTP/1.0. */
static bool is_this_machine(const char *host)
{
    if (!host)
        return true;
    size_t name = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    return (name == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           (name == 5 && strncmp(host, "[::1]", 5) == 0) ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == name);
}

/* Without a token whoever reaches us may ask; a browser on this machine does, and runs
 * pages of strangers. So it must mean us by our name (a stranger's name can be made to
 * lead here), and the page must be ours or one that is allowed. */
static bool comes_from_here(exchange *x, struct MHD_Connection *c)
{
    const serve_options *o = &x->service->o;
    const char *host = header_of(c, "Host"), *origin = header_of(c, "Origin");
    const char *from = origin ? strstr(origin, "://") : NULL;
    if (x->service->tokens.n > 0 || o->insecure)
        return true;
    if (!is_this_machine(host))
        return problem_set(
            &x->wrong, 403, "forbidden",
            "found Host: %.80s, wanted a name of this machine; to be reached "
            "by others, ask for a token (--token-file), or --insecure",
            host);
    if (!origin || (from && host && strcasecmp(from + 3, host) == 0))
        return true;
    if (o->allow_origin &&
        (strcmp(o->allow_origin, "*") == 0 || strcmp(o->allow_origin, origin) == 0))
        return true;
    return problem_set(&x->wrong, 403, "forbidden",
                       "found Origin: %.80s, wanted our own page; --allow-origin lets "
                       "others ask",
                       origin);
}

bool door_admit(exchange *x, struct MHD_Connection *c, const char *url,
                const char *method, const char *version)
{
    service *s = x->service;
    problem *p = &x->wrong;
    if (!is_clear(x, c, version))
        return false;
    x->route = route_find(url);
    if (!x->route)
        return problem_set(p, 404, "not_found",
                           "there is nothing here; see /openapi.json");
    x->endpoint = x->route->endpoint;
    if (!x->route->open && !comes_from_here(x, c))
        return false;
    if (strcmp(method, "OPTIONS") == 0 && s->o.allow_origin)
        return true; /* asked without a token */
    if (!x->route->open && !tokens_allow(&s->tokens, header_of(c, "Authorization")))
        return problem_set(p, 401, "unauthorized",
                           "found no token that is known, wanted Authorization: Bearer "
                           "TOKEN");
    if (!has_method(x->route->allow, method))
        return problem_set(p, 405, "method_not_allowed", "wanted %s", x->route->allow);
    const char *length = header_of(c, "Content-Length");
    if (length && strtoull(length, NULL, 10) > s->o.max_body_bytes)
        return door_too_large(x);
    x->takes_body = x->endpoint == ENDPOINT_CLASSIFY;
    return !x->takes_body || !door_memory_full(x);
}
