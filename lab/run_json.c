/* run_json.c - writes and reads a run by one table of its fields */
#include "lab/run_json.h"

#include "text/utf8.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- One table for writing and for reading ----------------------------------------- */

/* SHARE: a REAL that a line may lack; then it is negative. */
typedef enum field_kind { TEXT, SIZE, SEED, REAL, SHARE, FLAG } field_kind;

typedef struct field {
    const char *name;
    field_kind kind;
    size_t at;         /* offset in rf_run */
    size_t cap;        /* TEXT: bytes, NUL included */
    double max;        /* REAL, SHARE: 0 to this */
    const char *group; /* name of the object that holds it, NULL: the line itself */
} field;

#define AT(member) offsetof(rf_run, member)
#define CAP(member) sizeof(((rf_run *)0)->member)

static const field fields[] = {
    {"set", TEXT, AT(set), CAP(set), 0, NULL},
    {"ratio", REAL, AT(ratio), 0, 1, NULL},
    {"seed", SEED, AT(seed), 0, 0, NULL},
    {"method", TEXT, AT(method), CAP(method), 0, NULL},
    {"encoder", TEXT, AT(encoder), CAP(encoder), 0, NULL},
    {"variant", TEXT, AT(variant), CAP(variant), 0, NULL},
    {"known_classes", SIZE, AT(known_classes), 0, 0, NULL},
    {"train_rows", SIZE, AT(train_rows), 0, 0, NULL},
    {"dev_rows", SIZE, AT(dev_rows), 0, 0, NULL},
    {"test_rows", SIZE, AT(test_rows), 0, 0, NULL},
    {"classes_sha256", TEXT, AT(classes_sha256), CAP(classes_sha256), 0, NULL},
    {"accuracy", REAL, AT(accuracy), 0, 100, NULL},
    {"f1", REAL, AT(f1), 0, 100, NULL},
    {"f1_known", REAL, AT(f1_known), 0, 100, NULL},
    {"f1_open", REAL, AT(f1_open), 0, 100, NULL},
    {"closed", SHARE, AT(closed), 0, 100, NULL},
    {"auroc", SHARE, AT(auroc), 0, 100, NULL},
    {"best_f1", SHARE, AT(best_f1), 0, 100, NULL},
    {"best_accuracy", SHARE, AT(best_accuracy), 0, 100, NULL},
    {"encode", REAL, AT(seconds.encode), 0, 1e12, "seconds"},
    {"known", REAL, AT(seconds.known), 0, 1e12, "seconds"},
    {"open", REAL, AT(seconds.open), 0, 1e12, "seconds"},
    {"test", REAL, AT(seconds.test), 0, 1e12, "seconds"},
    {"shared_known", FLAG, AT(shared_known), 0, 0, NULL},
    {"threads", SIZE, AT(threads), 0, 0, NULL},
    {"version", TEXT, AT(version), CAP(version), 0, NULL},
    {"kernels", TEXT, AT(kernels), CAP(kernels), 0, NULL},
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

/* ---- Writing ----------------------------------------------------------------------- */

static bool is_utf8(const char *text)
{
    rf_utf8 u = {0};
    int32_t cp[2];
    for (; *text; text++) {
        size_t n = rf_utf8_push(&u, (unsigned char)*text, cp);
        for (size_t i = 0; i < n; i++)
            if (cp[i] == RF_REPLACEMENT)
                return false;
    }
    return !rf_utf8_end(&u);
}

/* Rejects what JSON cannot represent. The rest is checked by reading the line back. */
static rf_status check_field(const rf_run *run, const field *f, rf_error *err)
{
    const char *p = (const char *)run + f->at;
    double x = 0.0;
    uint64_t seed = 0;
    if (f->kind == TEXT && (!memchr(p, '\0', f->cap) || !is_utf8(p)))
        return rf_fail(err, RF_ERR_ARG, 0, "a run: \"%s\" is not UTF-8", f->name);
    if (f->kind == REAL || f->kind == SHARE)
        memcpy(&x, p, sizeof x);
    if (!isfinite(x))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "a run: \"%s\" is not finite", f->name);
    if (f->kind == SEED)
        memcpy(&seed, p, sizeof seed);
    if (seed > INT64_MAX)
        return rf_fail(err, RF_ERR_ARG, 0, "a run: the seed is larger than 2^63 - 1");
    return RF_OK;
}

/* NULL if memory ran out. */
static json_t *value_of(const rf_run *run, const field *f)
{
    const char *p = (const char *)run + f->at;
    switch (f->kind) {
    case TEXT: return json_string(p);
    case SIZE: {
        size_t n;
        memcpy(&n, p, sizeof n);
        return json_integer((json_int_t)n);
    }
    case SEED: {
        uint64_t n;
        memcpy(&n, p, sizeof n);
        return json_integer((json_int_t)n);
    }
    case REAL:
    case SHARE: {
        double x;
        memcpy(&x, p, sizeof x);
        return json_real(x);
    }
    case FLAG: {
        bool yes;
        memcpy(&yes, p, sizeof yes);
        return json_boolean(yes);
    }
    }
    return NULL;
}

/* The object that holds a field: the line, or a nested one created on first use. */
static json_t *holder_of(json_t *line, const field *f)
{
    if (!f->group)
        return line;
    json_t *group = json_object_get(line, f->group);
    if (group)
        return group;
    if (json_object_set_new(line, f->group, json_object()) != 0)
        return NULL;
    return json_object_get(line, f->group);
}

/* A negative share is not recorded. */
static bool is_left_out(const rf_run *run, const field *f)
{
    double x = 0.0;
    if (f->kind == SHARE)
        memcpy(&x, (const char *)run + f->at, sizeof x);
    return x < 0.0;
}

/* The line as an object; NULL if memory ran out. */
static json_t *line_of(const rf_run *run)
{
    json_t *line = json_object();
    bool ok = line != NULL;
    for (size_t i = 0; ok && i < N_FIELDS; i++) {
        if (is_left_out(run, &fields[i]))
            continue;
        json_t *holder = holder_of(line, &fields[i]);
        ok = holder &&
             json_object_set_new(holder, fields[i].name, value_of(run, &fields[i])) == 0;
    }
    if (ok && run->settings)
        ok = json_object_set(line, "settings", run->settings) == 0;
    if (ok && run->confusions)
        ok = json_object_set(line, "confusions", run->confusions) == 0;
    if (ok)
        return line;
    json_decref(line);
    return NULL;
}

rf_status rf_run_write(const rf_run *run, rf_buffer *out, rf_error *err)
{
    size_t before = out->len;
    rf_status st = RF_OK;
    for (size_t i = 0; st == RF_OK && i < N_FIELDS; i++)
        st = check_field(run, &fields[i], err);
    if (st != RF_OK)
        return st;
    json_t *line = line_of(run);
    if (!line)
        return rf_fail_nomem(err, sizeof *run, "a run");
    st = rf_json_write(line, out, err);
    json_decref(line);
    if (st == RF_OK) { /* a line that cannot be read must not get into the file */
        rf_run copy;
        st = rf_run_read(&copy, out->data + before, out->len - before, "a new run", 1,
                         err);
        if (st == RF_OK)
            rf_run_release(&copy);
    }
    return st == RF_OK ? rf_buffer_add(out, "\n", 1, err) : st;
}

/* ---- Reading ----------------------------------------------------------------------- */

typedef struct location {
    const char *file;
    size_t line;
    rf_error *err;
} location;

static rf_status bad(const location *at, const field *f, const json_t *value,
                     const char *wanted)
{
    return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                   "%s: line %zu: \"%s%s%s\" is %s, wanted %s", at->file, at->line,
                   f->group ? f->group : "", f->group ? "." : "", f->name,
                   rf_json_type(value), wanted);
}

static rf_status read_text(char *out, const json_t *value, const field *f,
                           const location *at)
{
    if (!json_is_string(value))
        return bad(at, f, value, "a string");
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (len >= f->cap)
        return rf_fail(at->err, RF_ERR_LIMIT, at->line,
                       "%s: line %zu: \"%s\" has %zu bytes, wanted at most %zu", at->file,
                       at->line, f->name, len, f->cap - 1);
    for (size_t i = 0; i < len; i++) /* tables show it */
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                           "%s: line %zu: \"%s\" has a control character", at->file,
                           at->line, f->name);
    memcpy(out, text, len + 1);
    return RF_OK;
}

static rf_status read_real(double *out, const json_t *value, const field *f,
                           const location *at)
{
    if (!json_is_number(value))
        return bad(at, f, value, "a number");
    double x = json_number_value(value);
    if (!(x >= 0.0 && x <= f->max))
        return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                       "%s: line %zu: \"%s\" is %g, wanted 0 to %g", at->file, at->line,
                       f->name, x, f->max);
    *out = x;
    return RF_OK;
}

static rf_status read_field(rf_run *run, const json_t *value, const field *f,
                            const location *at)
{
    char *p = (char *)run + f->at;
    switch (f->kind) {
    case TEXT: return read_text(p, value, f, at);
    case REAL:
    case SHARE: {
        double x = -1.0;
        if (f->kind == SHARE && !value) {
            memcpy(p, &x, sizeof x);
            return RF_OK;
        }
        rf_status st = read_real(&x, value, f, at);
        memcpy(p, &x, sizeof x);
        return st;
    }
    case FLAG: {
        bool yes = json_is_true(value);
        memcpy(p, &yes, sizeof yes);
        return json_is_boolean(value) ? RF_OK : bad(at, f, value, "a boolean");
    }
    case SIZE:
    case SEED: break;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return bad(at, f, value, "an integer of at least 0");
    uint64_t n = (uint64_t)json_integer_value(value);
    size_t size = (size_t)n;
    memcpy(p, f->kind == SIZE ? (void *)&size : (void *)&n,
           f->kind == SIZE ? sizeof size : sizeof n);
    return RF_OK;
}

/* An optional value; *out gets its own reference. */
static rf_status read_part(json_t **out, json_t *line, const char *name, json_type type,
                           const location *at)
{
    json_t *value = json_object_get(line, name);
    if (!value)
        return RF_OK;
    if (json_typeof(value) != type)
        return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                       "%s: line %zu: \"%s\" is %s, wanted %s", at->file, at->line, name,
                       rf_json_type(value),
                       type == JSON_OBJECT ? "an object" : "an array");
    *out = json_incref(value);
    return RF_OK;
}

static rf_status read_line(rf_run *run, json_t *line, const location *at)
{
    rf_status st = RF_OK;
    for (size_t i = 0; st == RF_OK && i < N_FIELDS; i++) {
        const field *f = &fields[i];
        const json_t *in = f->group ? json_object_get(line, f->group) : line;
        st = read_field(run, json_object_get(in, f->name), f, at);
    }
    if (st == RF_OK && (!run->set[0] || !run->method[0]))
        st = rf_fail(at->err, RF_ERR_FORMAT, at->line, "%s: line %zu: \"%s\" is empty",
                     at->file, at->line, run->set[0] ? "method" : "set");
    if (st == RF_OK)
        st = read_part(&run->settings, line, "settings", JSON_OBJECT, at);
    if (st == RF_OK)
        st = read_part(&run->confusions, line, "confusions", JSON_ARRAY, at);
    return st;
}

rf_status rf_run_read(rf_run *run, const char *text, size_t len, const char *file,
                      size_t line, rf_error *err)
{
    rf_error local = {0};
    location at = {file, line, err ? err : &local};
    *run = (rf_run){0};
    json_t *object = rf_json_line(text, len, file, line, at.err);
    if (!object)
        return at.err->code;
    rf_status st = read_line(run, object, &at);
    json_decref(object);
    if (st != RF_OK)
        rf_run_release(run);
    return st;
}
