/* record_json.c - writes and reads a struct of results by the table of its fields */
#include "lab/record_json.h"

#include "base/controls.h"
#include "text/utf8.h"

#include <math.h>
#include <string.h>

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
static rf_status check_field(const rf_record_form *form, const void *record,
                             const rf_field *f, rf_error *err)
{
    const char *p = (const char *)record + f->at;
    double x = 0.0;
    uint64_t seed = 0;
    if (f->kind == RF_FIELD_TEXT && (!memchr(p, '\0', f->cap) || !is_utf8(p)))
        return rf_fail(err, RF_ERR_ARG, 0, "%s: \"%s\" is not UTF-8", form->what,
                       f->name);
    if (f->kind == RF_FIELD_REAL || f->kind == RF_FIELD_SHARE)
        memcpy(&x, p, sizeof x);
    if (!isfinite(x))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "%s: \"%s\" is not finite", form->what,
                       f->name);
    if (f->kind == RF_FIELD_SEED)
        memcpy(&seed, p, sizeof seed);
    if (seed > INT64_MAX)
        return rf_fail(err, RF_ERR_ARG, 0, "%s: the seed is larger than 2^63 - 1",
                       form->what);
    return RF_OK;
}

/* NULL if memory ran out. */
static json_t *value_of(const void *record, const rf_field *f)
{
    const char *p = (const char *)record + f->at;
    switch (f->kind) {
    case RF_FIELD_TEXT: return json_string(p);
    case RF_FIELD_SIZE: {
        size_t n;
        memcpy(&n, p, sizeof n);
        return json_integer((json_int_t)n);
    }
    case RF_FIELD_SEED: {
        uint64_t n;
        memcpy(&n, p, sizeof n);
        return json_integer((json_int_t)n);
    }
    case RF_FIELD_REAL:
    case RF_FIELD_SHARE: {
        double x;
        memcpy(&x, p, sizeof x);
        return json_real(x);
    }
    case RF_FIELD_FLAG: {
        bool yes;
        memcpy(&yes, p, sizeof yes);
        return json_boolean(yes);
    }
    }
    return NULL;
}

/* The object that holds a field: the line, or a nested one created on first use. */
static json_t *holder_of(json_t *line, const rf_field *f)
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
static bool is_left_out(const void *record, const rf_field *f)
{
    double x = 0.0;
    if (f->kind == RF_FIELD_SHARE)
        memcpy(&x, (const char *)record + f->at, sizeof x);
    return x < 0.0;
}

rf_status rf_record_check(const rf_record_form *form, const void *record, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0; st == RF_OK && i < form->n; i++)
        st = check_field(form, record, &form->fields[i], err);
    return st;
}

json_t *rf_record_json(const rf_record_form *form, const void *record)
{
    json_t *line = json_object();
    bool ok = line != NULL;
    for (size_t i = 0; ok && i < form->n; i++) {
        const rf_field *f = &form->fields[i];
        if (is_left_out(record, f))
            continue;
        json_t *holder = holder_of(line, f);
        ok = holder && json_object_set_new(holder, f->name, value_of(record, f)) == 0;
    }
    if (ok)
        return line;
    json_decref(line);
    return NULL;
}

/* ---- Reading ----------------------------------------------------------------------- */

static rf_status bad(const rf_line_place *at, const rf_field *f, const json_t *value,
                     const char *wanted)
{
    return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                   "%s: line %zu: \"%s%s%s\" is %s, wanted %s", at->file, at->line,
                   f->group ? f->group : "", f->group ? "." : "", f->name,
                   rf_json_type(value), wanted);
}

static rf_status read_text(char *out, const json_t *value, const rf_field *f,
                           const rf_line_place *at)
{
    if (!json_is_string(value))
        return bad(at, f, value, "a string");
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (len >= f->cap)
        return rf_fail(at->err, RF_ERR_LIMIT, at->line,
                       "%s: line %zu: \"%s\" has %zu bytes, wanted at most %zu", at->file,
                       at->line, f->name, len, f->cap - 1);
    memcpy(out, text, len + 1);
    if (memcmp(rf_replace_controls(out, len, '?'), text, len) != 0) /* tables show it */
        return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                       "%s: line %zu: \"%s\" has a control character", at->file, at->line,
                       f->name);
    return RF_OK;
}

static rf_status read_real(double *out, const json_t *value, const rf_field *f,
                           const rf_line_place *at)
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

static rf_status read_field(void *record, const json_t *value, const rf_field *f,
                            const rf_line_place *at)
{
    char *p = (char *)record + f->at;
    switch (f->kind) {
    case RF_FIELD_TEXT: return read_text(p, value, f, at);
    case RF_FIELD_REAL:
    case RF_FIELD_SHARE: {
        double x = -1.0;
        if (f->kind == RF_FIELD_SHARE && !value) {
            memcpy(p, &x, sizeof x);
            return RF_OK;
        }
        rf_status st = read_real(&x, value, f, at);
        memcpy(p, &x, sizeof x);
        return st;
    }
    case RF_FIELD_FLAG: {
        bool yes = json_is_true(value);
        memcpy(p, &yes, sizeof yes);
        return json_is_boolean(value) ? RF_OK : bad(at, f, value, "a boolean");
    }
    case RF_FIELD_SIZE:
    case RF_FIELD_SEED: break;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return bad(at, f, value, "an integer of at least 0");
    uint64_t n = (uint64_t)json_integer_value(value);
    size_t size = (size_t)n;
    memcpy(p, f->kind == RF_FIELD_SIZE ? (void *)&size : (void *)&n,
           f->kind == RF_FIELD_SIZE ? sizeof size : sizeof n);
    return RF_OK;
}

rf_status rf_record_read(const rf_record_form *form, void *record, const json_t *line,
                         const rf_line_place *at)
{
    rf_status st = RF_OK;
    for (size_t i = 0; st == RF_OK && i < form->n; i++) {
        const rf_field *f = &form->fields[i];
        const json_t *in = f->group ? json_object_get(line, f->group) : line;
        st = read_field(record, json_object_get(in, f->name), f, at);
    }
    return st;
}
