/* texts.c - texts without labels */
#define _GNU_SOURCE
#include "data/dataset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n >= k && strcmp(path + n - k, ending) == 0;
}

/* Labelled data, its labels forgotten. */
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

static rf_status read_lines(rf_dataset *to, const char *path, rf_error *err)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return rf_fail_errno(err, "%s: cannot open", path);
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    rf_status st = RF_OK;
    while (st == RF_OK && (n = getline(&line, &room, f)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n > 0)
            st = rf_dataset_add(to, line, (size_t)n, "open", 4, err);
    }
    if (st == RF_OK && ferror(f))
        st = rf_fail_errno(err, "%s: cannot read", path);
    free(line);
    fclose(f);
    return st;
}

rf_dataset *rf_dataset_read_texts(const char *path, rf_error *err)
{
    static const char *const endings[] = {".tsv",    ".csv",    ".jsonl",
                                          ".tsv.gz", ".csv.gz", ".jsonl.gz"};
    bool table = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        table |= ends_in(path, endings[i]);
    rf_dataset *texts = rf_dataset_new(err);
    if (!texts)
        return NULL;
    rf_status st;
    if (table) {
        rf_dataset *from = rf_dataset_read(path, NULL, err);
        st = from ? copy_texts(texts, from, err) : RF_ERR_FORMAT;
        rf_dataset_free(from);
    } else {
        st = read_lines(texts, path, err);
    }
    if (st == RF_OK && rf_dataset_rows(texts) == 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0, "%s: no texts, wanted one per line", path);
    if (st == RF_OK)
        return texts;
    rf_dataset_free(texts);
    return NULL;
}
