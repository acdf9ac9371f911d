/* lab_toy.c - writes the small data set and reads it back */
#include "lab_toy.h"

#include "base/file.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `each` texts of every class; part makes the three files differ. */
static void write_part(const char *dir, const char *name, size_t each, size_t part)
{
    static const char *const words[CLASSES][2] = {
        {"refund", "cancel"}, {"where", "order"}, {"hello", "thank"},
        {"please", "my"},     {"order", "the"},   {"cancel", "thank"}};
    char *text = calloc(each * CLASSES * 80 + 32, 1), *at = text;
    assert_non_null(text);
    at += sprintf(at, "text\tlabel\n");
    for (size_t i = 0; i < each * CLASSES; i++) {
        size_t c = i % CLASSES, k = i / CLASSES;
        at += sprintf(at, "%s %s %s %zu\tc%zu\n", words[c][k % 2], words[c][1],
                      words[(c + k * part) % CLASSES][0], k * (part + 3), c);
    }
    scratch_write(dir, name, text, (size_t)(at - text));
    free(text);
}

void place_make(place *p)
{
    static const char open[] = "the weather is fine\nwhere is the sun\nhello moon\n"
                               "thank the stars\n";
    rf_error err;
    char set[RF_PATH_MAX];
    scratch_make(p->dir);
    scratch_path(p->data, p->dir, "data");
    scratch_path(p->out, p->dir, "out");
    scratch_path(set, p->data, "toy");
    assert_int_equal(rf_dir_make(set, &err), RF_OK);
    write_part(set, "train.tsv", 14, 1);
    write_part(set, "dev.tsv", 4, 2);
    write_part(set, "test.tsv", 6, 3);
    scratch_write(p->dir, "open.txt", open, sizeof open - 1);
    scratch_path(p->open, p->dir, "open.txt");
}

rf_lab_options quick(const place *p)
{
    rf_lab_options o = rf_lab_options_default();
    o.data = p->data;
    o.out = p->out;
    o.sets = "toy";
    o.ratios = "0.5";
    o.methods = "all";
    o.encoder = TINY;
    o.open_texts = p->open;
    o.threads = 1;
    o.settings = QUICK;
    return o;
}

rf_dataset *read_part(const place *p, const char *name)
{
    char set[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    scratch_path(set, p->data, "toy");
    scratch_path(path, set, name);
    rf_dataset *d = rf_dataset_read(path, NULL, &err);
    assert_non_null(d);
    return d;
}

rf_dataset *choose(const rf_dataset *from, const rf_split_rows *rows)
{
    rf_dataset *to = rf_dataset_new(NULL);
    assert_non_null(to);
    for (size_t i = 0; i < rows->n; i++) {
        size_t len;
        const char *text = rf_dataset_text(from, rows->row[i], &len);
        const char *label =
            rf_dataset_label(from, rf_dataset_class(from, rows->row[i]), NULL);
        assert_int_equal(rf_dataset_add(to, text, len, label, strlen(label), NULL),
                         RF_OK);
    }
    return to;
}
