/* request.c - headers, options, and bodies of JSON, plain lines or JSON lines */
#include "request.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_EXPLAIN 5
#define MAX_DEPTH 16   /* of nested JSON: far more than a request needs */
#define MAX_OPTIONS 16 /* keys besides the texts: likewise */

/* ---- Headers ----------------------------------------------------------------------- */

static bool word_equals(const char *word, const char *at, size_t len)
{
    return strlen(word) == len && strncasecmp(word, at, len) == 0;
}

/* The value of a parameter in ";name=value; ..."; NULL if there is none. */
static const char *find_parameter(const char *at, const char *end, const char *name,
                                  size_t *len)
{
    while (at < end && (at = memchr(at, ';', (size_t)(end - at)))) {
        at++;
        at += strspn(at, " \t");
        size_t n = strcspn(at, "=;,");
        if (at + n >= end || at[n] != '=' || !word_equals(name, at, n))
            continue;
        at += n + 1;
        at += *at == '"';
        *len = strcspn(at, "\";, \t");
        return at;
    }
    return NULL;
}

bool request_kind_of(const char *content_type, request_kind *kind, problem *p)
{
    static const struct {
        const char *name;
        request_kind kind;
    } kinds[] = {{"application/json", REQUEST_JSON},
                 {"text/plain", REQUEST_PLAIN},
                 {"application/x-ndjson", REQUEST_NDJSON},
                 /* what curl --data sends by default */
                 {"application/x-www-form-urlencoded", REQUEST_JSON}};
    *kind = REQUEST_JSON;
    if (!content_type)
        return true;
    size_t i = 0, n = sizeof kinds / sizeof *kinds, len = strcspn(content_type, "; \t");
    while (i < n && !word_equals(kinds[i].name, content_type, len))
        i++;
    if (i == n)
        return problem_set(
            p, 415, "unsupported_media_type",
            "found Content-Type: %.80s, wanted application/json, text/plain "
            "or application/x-ndjson",
            content_type);
    *kind = kinds[i].kind;
    const char *charset =
        find_parameter(content_type, strchr(content_type, '\0'), "charset", &len);
    if (!charset || word_equals("utf-8", charset, len) ||
        word_equals("us-ascii", charset, len))
        return true;
    return problem_set(p, 415, "unsupported_media_type",
                       "found charset=%.*s, wanted utf-8", len < 40 ? (int)len : 40,
                       charset);
}

bool request_forbids_store(const char *no_store)
{
    return no_store && strcmp(no_store, "0") != 0 && strcasecmp(no_store, "false") != 0;
}

bool request_accepts_stream(const char *accept)
{
    while (*accept) {
        accept += strspn(accept, ", \t");
        const char *end = accept + strcspn(accept, ",");
        size_t len;
        if (word_equals("application/x-ndjson", accept, strcspn(accept, ",; \t"))) {
            const char *q = find_parameter(accept, end, "q", &len);
            return !q || strspn(q, "0.") < len; /* q=0: not acceptable */
        }
        accept = end;
    }
    return false;
}

/* ---- Options ----------------------------------------------------------------------- */

typedef struct number_option {
    const char *name;
    size_t min, max;
    size_t *value;
} number_option;

/* Finds one of the four numeric options by name. */
static bool find_number_option(job *j, const char *name, const request_limits *limits,
                               number_option *out)
{
    const number_option all[] = {
        {"top_k", 0, REQUEST_MAX_TOP, &j->options.top},
        {"margins", 0, REQUEST_MAX_TOP, &j->options.margins},
        {"explain", 1, REQUEST_MAX_EXPLAIN, &j->options.explain},
        {"deadline_ms", 1, limits->max_deadline_ms, &j->deadline_ms}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i].name) == 0) {
            *out = all[i];
            return true;
        }
    return false;
}

static bool bad_number(problem *p, const char *pointer, const number_option *o,
                       const char *found)
{
    return problem_at(p, pointer, 400, "bad_request",
                      "%s: found %s, wanted a whole number from %zu to %zu", o->name,
                      found, o->min, o->max);
}

/* Flags that can be nothing else. */
static bool is_plain_flag(const char *name)
{
    return strcmp(name, "map") == 0 || strcmp(name, "store") == 0;
}

/* Sets a flag; explain can be one, too. False if there is no such flag. */
static bool set_flag(job *j, const char *name, bool on)
{
    if (strcmp(name, "explain") == 0)
        j->options.explain = on ? DEFAULT_EXPLAIN : 0;
    else if (strcmp(name, "map") == 0)
        j->options.map = on;
    else if (strcmp(name, "store") == 0)
        j->no_store = !on;
    else
        return false;
    return true;
}

static bool set_fence(job *j, bool is_number, double x, const char *found,
                      const char *pointer, problem *p)
{
    double most = (double)RF_MAX_FENCE;
    if (!is_number || !(x >= -most && x <= most))
        return problem_at(p, pointer, 400, "bad_request",
                          "fence: found %s, wanted a number from %g to %g", found, -most,
                          most);
    j->fence = (float)x;
    return true;
}

/* A decimal number of the query: "0.5", "-1e-3". */
static bool query_fence(job *j, const char *value, problem *p)
{
    char *end = NULL, found[40];
    bool plain = value && *value && strspn(value, "+-.0123456789eE") == strlen(value);
    double x = plain ? strtod(value, &end) : 0.0;
    snprintf(found, sizeof found, "\"%.20s\"", value ? value : "");
    return set_fence(j, plain && *end == '\0', x, found, "", p);
}

static bool json_fence(job *j, const json_t *value, const char *pointer, problem *p)
{
    char found[40];
    bool is_number = json_is_number(value);
    double x = json_number_value(value);
    snprintf(found, sizeof found, "%g", x);
    return set_fence(j, is_number, x, is_number ? found : rf_json_type(value), pointer,
                     p);
}

bool request_option(job *j, const char *name, const char *value,
                    const request_limits *limits, problem *p)
{
    number_option o;
    char pointer[POINTER_MAX];
    problem_pointer(pointer, name);
    bool on = value && strcmp(value, "true") == 0;
    if (value && (on || strcmp(value, "false") == 0) && set_flag(j, name, on))
        return true;
    if (is_plain_flag(name))
        return problem_set(p, 400, "bad_request", "%s: wanted true or false in the query",
                           name);
    if (strcmp(name, "fence") == 0)
        return query_fence(j, value, p);
    if (!find_number_option(j, name, limits, &o))
        return problem_set(p, 400, "bad_request",
                           "\"%s\" is not an option; wanted top_k, margins, explain, "
                           "map, fence, store or deadline_ms",
                           pointer + 1);
    size_t n = 0;
    char found[40];
    snprintf(found, sizeof found, "\"%.20s\"", value ? value : "");
    if (!value || !*value || strlen(value) > 9 ||
        strspn(value, "0123456789") != strlen(value))
        return bad_number(p, "", &o, found);
    for (const char *c = value; *c; c++)
        n = 10 * n + (size_t)(*c - '0');
    if (n < o.min || n > o.max)
        return bad_number(p, "", &o, found);
    *o.value = n;
    return true;
}

static bool json_option(job *j, const char *key, json_t *value,
                        const request_limits *limits, problem *p)
{
    number_option o;
    char pointer[POINTER_MAX], found[40];
    problem_pointer(pointer, key);
    if (json_is_boolean(value) && set_flag(j, key, json_is_true(value)))
        return true;
    if (is_plain_flag(key))
        return problem_at(p, pointer, 400, "bad_request",
                          "%s: found %s, wanted true or false", key, rf_json_type(value));
    if (strcmp(key, "fence") == 0)
        return json_fence(j, value, pointer, p);
    if (!find_number_option(j, key, limits, &o))
        return problem_at(p, pointer, 400, "bad_request",
                          "\"%s\" is not a key; wanted text or texts, and top_k, "
                          "margins, explain, map, fence, store or deadline_ms",
                          pointer + 1);
    if (!json_is_integer(value))
        return bad_number(p, pointer, &o, rf_json_type(value));
    json_int_t n = json_integer_value(value);
    snprintf(found, sizeof found, "%" JSON_INTEGER_FORMAT, n);
    if (n < (json_int_t)o.min || (uint64_t)n > o.max)
        return bad_number(p, pointer, &o, found);
    *o.value = (size_t)n;
    return true;
}

/* ---- Texts ------------------------------------------------------------------------- */

static bool no_memory(problem *p)
{
    return problem_out_of_memory(p, "the texts of a request");
}

static bool alloc_texts(job *j, size_t n, const char *pointer,
                        const request_limits *limits, problem *p)
{
    if (n > limits->max_texts)
        return problem_at(p, pointer, 413, "too_many_texts",
                          "found %zu texts, wanted at most %zu in a request", n,
                          limits->max_texts);
    j->texts = calloc(n + 1, sizeof *j->texts);
    return j->texts || no_memory(p);
}

/* pointer: "/texts/3" */
static bool add_text(job *j, const char *bytes, size_t len, const char *pointer,
                     const request_limits *limits, problem *p)
{
    if (len > limits->max_text_bytes)
        return problem_at(p, pointer, 413, "text_too_long",
                          "found a text of %zu bytes, wanted at most %zu", len,
                          limits->max_text_bytes);
    j->texts[j->n++] = (job_text){.bytes = bytes, .len = len};
    return true;
}

static bool add_json_text(job *j, json_t *text, const char *pointer,
                          const request_limits *limits, problem *p)
{
    if (!json_is_string(text))
        return problem_at(p, pointer, 400, "bad_request", "found %s, wanted a string",
                          rf_json_type(text));
    return add_text(j, json_string_value(text), json_string_length(text), pointer, limits,
                    p);
}

/* ---- JSON -------------------------------------------------------------------------- */

/* A hostile body of a few megabytes would take half a second and hundreds of megabytes to
 * parse, on the one I/O thread. But a valid request is not nested deep, and has no more
 * values than texts and options. */
static bool check_shape(const char *text, size_t len, size_t max_values,
                        const char *pointer, problem *p)
{
    switch (rf_json_shape(text, len, MAX_DEPTH, max_values)) {
    case RF_JSON_TOO_DEEP:
        return problem_at(p, pointer, 400, "bad_json", "nested deeper than %d",
                          MAX_DEPTH);
    case RF_JSON_TOO_MANY:
        return problem_at(
            p, pointer, 413, "too_many_texts",
            "found more than %zu values, the limit for texts and options together",
            max_values);
    case RF_JSON_FITS: break;
    }
    return true;
}

static json_t *parse_values(const char *text, size_t len, size_t max_values,
                            const char *pointer, problem *p)
{
    json_error_t e;
    if (len == 0) {
        problem_at(p, pointer, 400, "bad_json", "the body is empty");
        return NULL;
    }
    if (!check_shape(text, len, max_values, pointer, p))
        return NULL;
    json_t *v = json_loadb(text, len,
                           JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &e);
    if (!v && rf_json_ran_out(&e, text))
        no_memory(p);
    else if (!v)
        problem_at(p, pointer, 400, "bad_json", "%s (byte %d)", e.text, e.position);
    return v;
}

json_t *request_json(const char *text, size_t len, size_t max_values, problem *p)
{
    return parse_values(text, len, max_values + MAX_OPTIONS, "", p);
}

bool request_is_object(const json_t *v, const char *const *keys, const char *pointer,
                       problem *p)
{
    const char *key;
    json_t *value;
    if (!json_is_object(v))
        return problem_at(p, pointer, 400, "bad_request", "found %s, wanted an object",
                          rf_json_type(v));
    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return problem_at(p, pointer, 400, "bad_request",
                              "found the key \"%.60s\", which is not known", key);
    }
    return true;
}

/* Parses a body or a line; the job owns the result. NULL if it is not JSON. */
static json_t *parse_json(job *j, const char *text, size_t len, size_t max_texts,
                          const char *pointer, problem *p)
{
    json_t *v = parse_values(text, len, max_texts + MAX_OPTIONS, pointer, p);
    if (v)
        j->json[j->n_json++] = v;
    return v;
}

static bool read_texts(job *j, json_t *root, const request_limits *limits, problem *p)
{
    json_t *text = json_object_get(root, "text"), *texts = json_object_get(root, "texts");
    char pointer[64];
    if (!text == !texts)
        return problem_set(p, 400, "bad_request",
                           text ? "found both text and texts, wanted one of them"
                                : "found neither text nor texts, wanted one of them");
    if (text) {
        j->single = true;
        return alloc_texts(j, 1, "", limits, p) &&
               add_json_text(j, text, "/text", limits, p);
    }
    if (!json_is_array(texts))
        return problem_at(p, "/texts", 400, "bad_request",
                          "texts: found %s, wanted an array of strings",
                          rf_json_type(texts));
    if (!alloc_texts(j, json_array_size(texts), "/texts", limits, p))
        return false;
    for (size_t i = 0; i < json_array_size(texts); i++) {
        snprintf(pointer, sizeof pointer, "/texts/%zu", i);
        if (!add_json_text(j, json_array_get(texts, i), pointer, limits, p))
            return false;
    }
    return true;
}

static bool read_json(job *j, size_t len, const request_limits *limits, problem *p)
{
    const char *key;
    json_t *value;
    j->json = calloc(1, sizeof(json_t *));
    if (!j->json)
        return no_memory(p);
    json_t *root = parse_json(j, j->body, len, limits->max_texts, "", p);
    if (!root)
        return false;
    if (!json_is_object(root))
        return problem_set(p, 400, "bad_request", "found %s, wanted an object",
                           rf_json_type(root));
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, "text") != 0 && strcmp(key, "texts") != 0 &&
            !json_option(j, key, value, limits, p))
            return false;
    }
    return read_texts(j, root, limits, p);
}

/* ---- Lines ------------------------------------------------------------------------- */

static size_t count_lines(const char *body, size_t len)
{
    size_t n = len > 0 && body[len - 1] != '\n';
    for (size_t i = 0; i < len; i++)
        n += body[i] == '\n';
    return n;
}

static bool read_line(job *j, request_kind kind, const char *line, size_t len,
                      const char *pointer, const request_limits *limits, problem *p)
{
    if (kind == REQUEST_PLAIN)
        return add_text(j, line, len, pointer, limits, p);
    size_t blanks = 0;
    while (blanks < len && line[blanks] && strchr(" \t\r", line[blanks]))
        blanks++;
    if (blanks == len)
        return true;
    json_t *v = parse_json(j, line, len, 1, pointer, p);
    if (!v)
        return false;
    if (json_is_object(v)) {
        json_t *text = json_object_get(v, "text");
        if (!text || json_object_size(v) != 1)
            return problem_at(p, pointer, 400, "bad_request",
                              "found an object with other keys, wanted {\"text\": ...}");
        v = text;
    }
    return add_json_text(j, v, pointer, limits, p);
}

static bool read_lines(job *j, request_kind kind, size_t len,
                       const request_limits *limits, problem *p)
{
    size_t n = count_lines(j->body, len), line = 0;
    if (!alloc_texts(j, n, "", limits, p))
        return false;
    if (kind == REQUEST_NDJSON && !(j->json = calloc(n + 1, sizeof *j->json)))
        return no_memory(p);
    for (size_t at = 0, end; at < len; at = end + 1, line++) {
        const char *lf = memchr(j->body + at, '\n', len - at);
        char pointer[32];
        end = lf ? (size_t)(lf - j->body) : len;
        snprintf(pointer, sizeof pointer, "/%zu", line);
        if (!read_line(j, kind, j->body + at, end - at, pointer, limits, p))
            return false;
    }
    return true;
}

bool request_read(job *j, request_kind kind, char *body, size_t len,
                  const request_limits *limits, problem *p)
{
    j->body = body;
    return kind == REQUEST_JSON ? read_json(j, len, limits, p)
                                : read_lines(j, kind, len, limits, p);
}
