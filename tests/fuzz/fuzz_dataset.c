/*
 * fuzz_dataset.c - arbitrary bytes as labelled data
 *
 * The first byte chooses the options, the second the size of the blocks in which the rest
 * comes. What is read must hold what a dataset promises, and must not depend on the
 * blocks: neither the rows nor the complaint.
 */
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool good)
{
    if (!good)
        abort();
}

static rf_data_options options_of(uint8_t byte)
{
    static const char *const columns[][2] = {
        {NULL, NULL}, {"1", "2"}, {"2", "1"}, {"text", NULL}, {NULL, "y"}};
    size_t pair = byte / 24 % 5;
    return (rf_data_options){.format = (rf_data_format)(byte % 4),
                             .header = (rf_data_header)(byte / 4 % 3),
                             .raw_tsv = byte / 12 % 2,
                             .text_column = columns[pair][0],
                             .label_column = columns[pair][1]};
}

static rf_dataset *read_in_steps(const char *bytes, size_t len, size_t step,
                                 const rf_data_options *o, rf_error *err)
{
    rf_source s;
    if (rf_source_open_bytes(&s, bytes, len, step, "fuzz", err) != RF_OK)
        return NULL;
    rf_dataset *data = rf_dataset_read_from(&s, NULL, o, err);
    rf_source_close(&s);
    return data;
}

static void check(const rf_dataset *data)
{
    size_t rows = rf_dataset_rows(data), sum = 0, n;
    const char *before = NULL;
    rf_data_summary summary;
    need(rows > 0);
    for (size_t c = 0; c < rf_dataset_classes(data); c++) {
        const char *label = rf_dataset_label(data, c, &n);
        size_t len = strlen(label);
        need(n > 0 && len > 0 && len <= RF_MAX_LABEL_BYTES);
        need(label[0] != ' ' && label[len - 1] != ' ');
        for (size_t i = 0; i < len; i++)
            need((unsigned char)label[i] >= 0x20 && label[i] != 0x7f);
        need(!before || strcmp(before, label) < 0);
        before = label;
        sum += n;
    }
    need(sum == rows);
    need(rf_dataset_summarize(data, &summary, NULL) == RF_OK);
    need(summary.rows == rows && summary.classes == rf_dataset_classes(data));
    need(summary.duplicates < rows && summary.conflicts < rows && summary.empty <= rows);
}

static void compare(const rf_dataset *a, const rf_dataset *b)
{
    need(rf_dataset_rows(a) == rf_dataset_rows(b));
    for (size_t row = 0; row < rf_dataset_rows(a); row++) {
        size_t n, m;
        const char *x = rf_dataset_text(a, row, &n), *y = rf_dataset_text(b, row, &m);
        need(n == m && memcmp(x, y, n) == 0 && x[n] == '\0');
        need(rf_dataset_class(a, row) == rf_dataset_class(b, row));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    rf_error err = {0}, err_whole = {0};
    if (len < 2)
        return 0;
    rf_data_options o = options_of(bytes[0]);
    const char *text = (const char *)bytes + 2;
    rf_dataset *data = read_in_steps(text, len - 2, 1 + bytes[1] % 64u, &o, &err);
    rf_dataset *whole = read_in_steps(text, len - 2, len, &o, &err_whole);
    need(!data == !whole);
    if (data) {
        check(data);
        compare(data, whole);
    } else {
        need(err.code != RF_OK && err.msg[0] != '\0');
        need(err.code == err_whole.code && err.pos == err_whole.pos);
    }
    rf_dataset_free(data);
    rf_dataset_free(whole);
    return 0;
}
