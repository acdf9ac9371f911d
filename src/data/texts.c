/* texts.c - texts without labels */
#include "data/dataset.h"
#include "data/source.h"

#include <string.h>

/* Labelled data without its labels. */
static rf_status copy_texts(rf_dataset *to, const rf_dataset *from, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0; i < rf_dataset_rows(from) && st == RF_OK; i++) {
        size_t len;
        const char *text = rf_dataset_text(from, i, &len);
        st = rf_dataset_add(to, text, len, "open", 4, err);
    }
    return st;
}

static rf_status add_line(rf_dataset *to, const char *line, size_t n, rf_error *err)
{
    if (n > 0 && line[n - 1] == '\r')
        n--;
    return n > 0 ? rf_dataset_add(to, line, n, "open", 4, err) : RF_OK;
}

static rf_status read_lines(rf_dataset *to, rf_source *s, rf_error *err)
{
    rf_status st = rf_source_begin(s, err);
    size_t line = 1;
    while (st == RF_OK) {
        size_t len;
        const char *p = rf_source_data(s, &len);
        const char *end = len > 0 ? memchr(p, '\n', len) : NULL;
        if (!end && !s->at_end) {
            st = rf_source_more(s, err);
            continue;
        }
        size_t n = end ? (size_t)(end - p) : len;
        rf_error why = {0};
        st = add_line(to, p, n, &why);
        if (st != RF_OK)
            return rf_fail(err, st, line, "%s: line %zu: %s", s->name, line, why.msg);
        line++;
        rf_source_take(s, n + (end != NULL));
        if (!end)
            break;
    }
    return st;
}

rf_dataset *rf_dataset_read_texts(const char *path, rf_error *err)
{
    rf_dataset *texts = rf_dataset_new(err);
    if (!texts)
        return NULL;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    rf_status st;
    if (rf_format_of_name(path) != RF_DATA_AUTO) {
        rf_dataset *from = rf_dataset_read(path, NULL, err);
        st = from ? copy_texts(texts, from, err) : RF_ERR_FORMAT;
        rf_dataset_free(from);
    } else {
        rf_source s;
        st = rf_source_open(&s, path, err);
        if (st == RF_OK)
            st = read_lines(texts, &s, err);
        rf_source_close(&s);
    }
    if (st == RF_OK && rf_dataset_rows(texts) == 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0, "%s: no texts, wanted one per line", name);
    if (st == RF_OK)
        return texts;
    rf_dataset_free(texts);
    return NULL;
}
