/* published.c - reads the embedded table of published results */
#include "lab/published.h"

#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#define FILE_NAME "published.tsv"
#define COLUMNS 7

/* One field into out; false if it does not fit. */
static bool copy_field(char *out, size_t cap, const char *text, size_t len)
{
    if (len >= cap || memchr(text, '\0', len))
        return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

/* A plain decimal number from 0 to max, and nothing else. */
static bool read_number(double *out, const char *text, size_t len, double max)
{
    char copy[32], *end;
    if (len == 0 || !copy_field(copy, sizeof copy, text, len) ||
        strspn(copy, "0123456789.") != len)
        return false;
    *out = strtod(copy, &end);
    return *end == '\0' && *out >= 0.0 && *out <= max;
}

static rf_status parse_line(rf_published *p, const char *line, size_t len, size_t number,
                            rf_error *err)
{
    const char *field[COLUMNS];
    size_t length[COLUMNS], n = 0;
    for (size_t at = 0; at <= len; n++) {
        const char *tab = at < len ? memchr(line + at, '\t', len - at) : NULL;
        size_t stop = tab ? (size_t)(tab - line) : len;
        if (n < COLUMNS) {
            field[n] = line + at;
            length[n] = stop - at;
        }
        at = stop + 1;
    }
    if (n != COLUMNS)
        return rf_fail(err, RF_ERR_FORMAT, number,
                       FILE_NAME ": line %zu: found %zu columns, wanted %d", number, n,
                       COLUMNS);
    *p = (rf_published){0};
    bool ok = copy_field(p->source, sizeof p->source, field[0], length[0]) &&
              copy_field(p->set, sizeof p->set, field[1], length[1]) &&
              read_number(&p->ratio, field[2], length[2], 1.0) &&
              copy_field(p->method, sizeof p->method, field[3], length[3]) &&
              copy_field(p->variant, sizeof p->variant, field[4], length[4]) &&
              copy_field(p->metric, sizeof p->metric, field[5], length[5]) &&
              read_number(&p->value, field[6], length[6], 100.0);
    return ok ? RF_OK
              : rf_fail(err, RF_ERR_FORMAT, number,
                        FILE_NAME ": line %zu: a name is too long or a number is invalid",
                        number);
}

rf_status rf_published_parse(const char *text, size_t len, rf_published **list, size_t *n,
                             rf_error *err)
{
    rf_buffer out;
    rf_status st = RF_OK;
    size_t number = 0;
    *list = NULL;
    *n = 0;
    rf_buffer_init(&out, (size_t)1 << 26, FILE_NAME);
    for (size_t at = 0; st == RF_OK && at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t stop = end ? (size_t)(end - text) : len;
        rf_published p;
        number++;
        if (stop > at && text[at] != '#') {
            st = parse_line(&p, text + at, stop - at, number, err);
            if (st == RF_OK)
                st = rf_buffer_add(&out, &p, sizeof p, err);
        }
        at = stop + 1;
    }
    if (st != RF_OK) {
        rf_buffer_release(&out);
        return st;
    }
    *list = (rf_published *)(void *)out.data;
    *n = out.len / sizeof **list;
    return RF_OK;
}

rf_status rf_published_load(rf_published **list, size_t *n, rf_error *err)
{
    return rf_published_parse((const char *)rf_published_bytes, rf_published_bytes_size,
                              list, n, err);
}

const rf_published *rf_published_find(const rf_published *list, size_t n,
                                      const char *source, const char *set, double ratio,
                                      const char *method, const char *variant,
                                      const char *metric)
{
    for (size_t i = 0; i < n; i++) {
        const rf_published *p = &list[i];
        if (p->ratio == ratio && strcmp(p->metric, metric) == 0 &&
            strcmp(p->method, method) == 0 && strcmp(p->set, set) == 0 &&
            strcmp(p->variant, variant) == 0 && strcmp(p->source, source) == 0)
            return p;
    }
    return NULL;
}
