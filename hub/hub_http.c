/* hub_http.c - one GET with all its redirects, by libcurl */
#include "hub_http.h"

#include "base/controls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_HOPS 8
#define MAX_HEADERS ((size_t)256 << 10) /* bytes of all headers of an answer */
#define MAX_IGNORED                                                                      \
    ((size_t)64 << 10) /* of the body of an answer that we do not want                   \
                        */
#define CONNECT_SECONDS 30
#define SLOWEST 200 /* bytes a second; less for `stall` seconds is a stall */

/* One request on its way. */
typedef struct hop {
    const hub_sink *sink;
    hub_answer *answer;
    hub_origin origin;
    bool own; /* asks the endpoint itself */
    size_t header_bytes, ignored;
    bool begun;
    rf_status failed; /* in a callback, which has filled err */
    rf_error *err;
    CURL *curl;
} hop;

/* ---- Headers ----------------------------------------------------------------------- */

/* The value of the header `name`, its length in *len; NULL if this is another one. */
static const char *value_of(const char *line, size_t n, const char *name, size_t *len)
{
    size_t k = strlen(name);
    if (n <= k || line[k] != ':' || strncasecmp(line, name, k) != 0)
        return NULL;
    const char *begin = line + k + 1, *end = line + n;
    while (begin < end && (*begin == ' ' || *begin == '\t'))
        begin++;
    while (end > begin && strchr(" \t\r\n", end[-1]))
        end--;
    *len = (size_t)(end - begin);
    return begin;
}

static void copy_value(char *out, size_t cap, const char *value, size_t len)
{
    if (len >= cap)
        len = cap - 1;
    memcpy(out, value, len);
    out[len] = '\0';
    rf_replace_controls(out, len, ' ');
}

/* A number of bytes; -1 for anything else. */
static int64_t count_of(const char *value, size_t len)
{
    int64_t n = 0;
    if (len == 0 || len > 18)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return -1;
        n = n * 10 + (value[i] - '0');
    }
    return n;
}

/* "bytes 100-199/200" */
static void take_range(hub_answer *a, const char *value, size_t len)
{
    const char *dash = memchr(value, '-', len), *slash = memchr(value, '/', len);
    if (len < 7 || strncasecmp(value, "bytes ", 6) != 0 || !dash || !slash ||
        dash > slash)
        return;
    a->from = count_of(value + 6, (size_t)(dash - value) - 6);
    a->total = count_of(slash + 1, (size_t)(value + len - slash) - 1);
}

/* own: only the hub itself can promise something about a file. */
static void take_header(hub_answer *a, const char *line, size_t n, bool own)
{
    const char *v;
    size_t len;
    if ((v = value_of(line, n, "Content-Length", &len)))
        a->length = count_of(v, len);
    else if ((v = value_of(line, n, "Content-Range", &len)))
        take_range(a, v, len);
    else if ((v = value_of(line, n, "Content-Encoding", &len)))
        copy_value(a->encoding, sizeof a->encoding, v, len);
    else if ((v = value_of(line, n, "ETag", &len))) {
        /* A weak one may not be used to continue. */
        a->etag[0] = '\0';
        if (len >= 2 && len < sizeof a->etag && v[0] == '"' && v[len - 1] == '"')
            copy_value(a->etag, sizeof a->etag, v, len);
    } else if ((v = value_of(line, n, "Location", &len))) {
        a->long_location = len >= sizeof a->location;
        copy_value(a->location, sizeof a->location, v, len);
    } else if (own && (v = value_of(line, n, "X-Repo-Commit", &len)))
        copy_value(a->commit, sizeof a->commit, v, len);
    else if (own && (v = value_of(line, n, "X-Linked-Size", &len)))
        a->linked_size = count_of(v, len);
    else if (own && (v = value_of(line, n, "X-Linked-Etag", &len))) {
        bool quoted = len >= 2 && v[0] == '"' && v[len - 1] == '"';
        copy_value(a->linked_etag, sizeof a->linked_etag, v + quoted, len - 2 * quoted);
    } else if ((v = value_of(line, n, "X-Error-Code", &len)))
        copy_value(a->error_code, sizeof a->error_code, v, len);
    else if ((v = value_of(line, n, "X-Error-Message", &len)))
        copy_value(a->error_message, sizeof a->error_message, v, len);
}

/* A new answer begins: all but what the hub promised is forgotten. */
static void forget(hub_answer *a)
{
    a->status = 0;
    a->length = a->from = a->total = -1;
    a->etag[0] = a->encoding[0] = a->location[0] = '\0';
    a->error_code[0] = a->error_message[0] = '\0';
    a->long_location = false;
}

static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    hop *h = user;
    size_t n = size * count;
    h->header_bytes += n;
    if (h->header_bytes > MAX_HEADERS) {
        h->failed =
            rf_fail(h->err, RF_ERR_LIMIT, 0, "%s sent more than %zu bytes of headers",
                    h->origin.host, MAX_HEADERS);
        return 0;
    }
    if (n > 5 && strncmp(line, "HTTP/", 5) == 0)
        forget(h->answer);
    take_header(h->answer, line, n, h->own);
    return n;
}

/* ---- Bodies ------------------------------------------------------------------------ */

static bool begin(hop *h)
{
    (void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &h->answer->status);
    if (h->begun || (h->answer->status != 200 && h->answer->status != 206))
        return true;
    h->begun = true;
    h->failed = h->sink->begin(h->sink->user, h->answer, h->err);
    return h->failed == RF_OK;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    hop *h = user;
    size_t n = size * count;
    if (!begin(h))
        return 0;
    if (!h->begun) {
        h->ignored += n;
        return h->ignored > MAX_IGNORED ? 0 : n; /* what the status says is enough */
    }
    h->failed = h->sink->add(h->sink->user, bytes, n, h->err);
    return h->failed == RF_OK ? n : 0;
}

static int on_progress(void *user, curl_off_t dltotal, curl_off_t dlnow,
                       curl_off_t ultotal, curl_off_t ulnow)
{
    hop *h = user;
    (void)dltotal, (void)dlnow, (void)ultotal, (void)ulnow;
    if (h->failed == RF_OK)
        h->failed = h->sink->watch(h->sink->user, h->err);
    return h->failed != RF_OK;
}

/* ---- A request --------------------------------------------------------------------- */

static struct curl_slist *headers_for(const hub_http *h, bool own, int64_t from,
                                      const char *etag)
{
    char line[HUB_ETAG_MAX + 32];
    struct curl_slist *list = curl_slist_append(NULL, "Accept-Encoding: identity"), *more;
    if (list && from > 0) {
        snprintf(line, sizeof line, "Range: bytes=%lld-", (long long)from);
        if ((more = curl_slist_append(list, line))) {
            snprintf(line, sizeof line, "If-Range: %s", etag);
            more = curl_slist_append(more, line);
        }
        if (!more)
            curl_slist_free_all(list);
        list = more;
    }
    const char *token = h->options->token;
    if (list && own && token && *token) {
        size_t n = strlen(token) + 32;
        char *authorization = malloc(n);
        more = NULL;
        if (authorization) {
            snprintf(authorization, n, "Authorization: Bearer %s", token);
            more = curl_slist_append(list, authorization);
        }
        free(authorization);
        if (!more)
            curl_slist_free_all(list);
        list = more;
    }
    return list;
}

static void set_up(const hub_http *h, hop *p, const char *url, struct curl_slist *headers,
                   char *reason)
{
    CURL *c = h->curl;
    char agent[64];
    snprintf(agent, sizeof agent, "ringfence/%s", rf_version());
    curl_easy_reset(c); /* connections stay open */
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_USERAGENT, agent);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, (long)SLOWEST);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)h->options->stall);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, p);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, p);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, p);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    if (strcmp(p->origin.scheme, "http") == 0) /* loopback: no business of a proxy */
        curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    if (h->options->ca_file)
        curl_easy_setopt(c, CURLOPT_CAINFO, h->options->ca_file);
    if (h->options->ca_dir)
        curl_easy_setopt(c, CURLOPT_CAPATH, h->options->ca_dir);
}

static hub_outcome fail_request(const hop *p, CURLcode code, const char *reason)
{
    const char *words = reason[0] ? reason : curl_easy_strerror(code);
    char where[300];
    snprintf(where, sizeof where, "%s://%s:%s", p->origin.scheme, p->origin.host,
             p->origin.port);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        rf_fail(p->err, RF_ERR_IO, 0,
                "%s: its certificate is not trusted: %.200s (SSL_CERT_FILE names other "
                "certificates to trust)",
                where, words);
        return HUB_FAILED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
        rf_fail(p->err, RF_ERR_IO, 0, "%s: %.200s", where, words);
        return HUB_FAILED;
    default: rf_fail(p->err, RF_ERR_IO, 0, "%s: %.200s", where, words); return HUB_AGAIN;
    }
}

static hub_outcome fail_status(const hub_http *h, const hop *p, const char *path)
{
    const hub_answer *a = p->answer;
    const char *token = h->options->token;
    bool has_token = token && *token;
    const char *hint = "";
    if (a->status == 401 ||
        (a->status == 404 && strcmp(a->error_code, "RepoNotFound") == 0))
        hint = has_token ? "; there is no such repository, or HF_TOKEN gives no access"
                         : "; there is no such repository, or it is private: HF_TOKEN "
                           "can hold a token";
    else if (a->status == 403)
        hint = has_token ? "; HF_TOKEN gives no access to it"
                         : "; ask for access on its page, then set HF_TOKEN";
    else if (strcmp(a->error_code, "RevisionNotFound") == 0)
        hint = "; there is no such revision";
    char shown[200];
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(path, "?"), path);
    rf_fail(p->err, a->status == 404 ? RF_ERR_MISSING : RF_ERR_IO, 0,
            "%s://%s:%s answered %ld to %s%s%s%s", p->origin.scheme, p->origin.host,
            p->origin.port, a->status, shown, a->error_message[0] ? ": " : "",
            a->error_message, hint);
    if (a->status == 416)
        return HUB_RANGE;
    return a->status == 408 || a->status == 429 || a->status >= 500 ? HUB_AGAIN
                                                                    : HUB_FAILED;
}

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 ||
           status == 308;
}

/* One hop: HUB_DONE with a redirect in the answer, or at the end. */
static hub_outcome ask(hub_http *h, hop *p, const char *url, const char *path,
                       int64_t from, const char *etag, double *wait)
{
    char reason[CURL_ERROR_SIZE] = "";
    curl_off_t after = 0;
    struct curl_slist *headers = headers_for(h, p->own, from, etag);
    if (!headers) {
        rf_fail_nomem(p->err, 0, "a request");
        return HUB_FAILED;
    }
    forget(p->answer);
    set_up(h, p, url, headers, reason);
    CURLcode code = curl_easy_perform(h->curl);
    curl_slist_free_all(headers);
    (void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &p->answer->status);
    (void)curl_easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &after);
    *wait = (double)after;
    rf_replace_controls(reason, strlen(reason), ' ');
    if (p->failed != RF_OK)
        return HUB_FAILED;
    bool good = p->answer->status == 200 || p->answer->status == 206;
    bool cut = code == CURLE_WRITE_ERROR && p->ignored > MAX_IGNORED;
    if (code != CURLE_OK && !cut)
        return fail_request(p, code, reason);
    if (is_redirect(p->answer->status))
        return HUB_DONE;
    if (!good)
        return fail_status(h, p, path);
    if (!begin(p)) /* no body at all */
        return HUB_FAILED;
    return HUB_DONE;
}

hub_outcome hub_http_get(hub_http *h, const char *path, int64_t from, const char *etag,
                         const hub_sink *sink, double *wait, rf_error *err)
{
    char url[HUB_URL_MAX], next[HUB_URL_MAX];
    hub_answer *answer = calloc(1, sizeof *answer);
    hub_outcome outcome = HUB_FAILED;
    bool over = false;
    if (!answer) {
        rf_fail_nomem(err, sizeof *answer, "an answer");
        return HUB_FAILED;
    }
    answer->linked_size = -1;
    snprintf(url, sizeof url, "%s%s", h->endpoint.base, path);
    for (int hops = 0; !over; hops++) {
        hop p = {.sink = sink, .answer = answer, .err = err, .curl = h->curl};
        outcome = HUB_FAILED;
        if (hops > MAX_HOPS) {
            rf_fail(err, RF_ERR_FORMAT, 0, "%s redirects more than %d times",
                    h->endpoint.base, MAX_HOPS);
            break;
        }
        if (hub_url_check(&h->endpoint, url, &p.origin, &p.own, err) != RF_OK)
            break;
        outcome = ask(h, &p, url, path, from, etag, wait);
        over = outcome != HUB_DONE || !is_redirect(answer->status);
        if (over)
            break;
        outcome = HUB_FAILED;
        if (!answer->location[0] || answer->long_location) {
            rf_fail(err, RF_ERR_FORMAT, 0, "%s://%s:%s answered %ld %s", p.origin.scheme,
                    p.origin.host, p.origin.port, answer->status,
                    answer->location[0] ? "with an address that is too long"
                                        : "without an address");
            break;
        }
        if (hub_url_follow(url, answer->location, next, err) != RF_OK)
            break;
        memcpy(url, next, sizeof url);
    }
    free(answer);
    return outcome;
}
