/*
 * fuzz_formats.c - arbitrary bytes as each of the formats that are read as a whole
 *
 * The first byte chooses the format, or a member of an export, the second the size of the
 * blocks and the options. The rows must not depend on the blocks. As JSON the bytes also
 * go to jansson: what one takes for valid, the other must, too.
 */
#include "base/json.h"
#include "data/bundle.h"
#include "data/dataset.h"
#include "data/json_cursor.h"
#include "data/reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool good)
{
    if (!good)
        abort();
}

typedef struct summing {
    uint64_t sum;
    size_t rows;
} summing;

static void add(summing *s, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++)
        s->sum = (s->sum ^ p[i]) * 0x100000001b3u;
}

static rf_status take(void *user, const rf_table_row *row, rf_error *err)
{
    summing *s = user;
    (void)err;
    need(row->text < row->n && (row->label == SIZE_MAX || row->label < row->n));
    for (size_t i = 0; i < row->n; i++) {
        add(s, row->fields[i].data, row->fields[i].len);
        if (row->names)
            add(s, row->names[i].data, row->names[i].len);
    }
    add(s, &row->line, sizeof row->line);
    s->rows++;
    return RF_OK;
}

/* Formats of single files come first; then what is found in exports. */
static rf_status read_as(unsigned which, rf_source *s, rf_rows *rows, rf_error *err)
{
    rf_status st;
    if (which < 2) {
        rows->file = s->name;
        st = rf_source_begin(s, err);
        return st != RF_OK ? st
               : which == 0
                   ? rf_dialogflow_take(rows, "intents/x_usersays_en.json", s, err)
                   : rf_dialogflow_take(rows, "intents/x/trainingPhrases/en.json", s,
                                        err);
    }
    return rf_read_source(s, NULL, rows, err);
}

static rf_status read_in_steps(unsigned which, const rf_data_options *o,
                               const char *bytes, size_t len, size_t step, summing *sum,
                               rf_error *err)
{
    rf_source s;
    rf_rows rows = {.options = o, .take = take, .user = sum};
    rf_status st = rf_source_open_bytes(&s, bytes, len, step, "fuzz", err);
    if (st != RF_OK)
        return st;
    st = read_as(which, &s, &rows, err);
    if (st == RF_OK)
        st = rf_rows_end(&rows, "fuzz", err);
    rf_source_close(&s);
    need(st != RF_OK || rows.end.rows == sum->rows);
    return st;
}

static void compare_json(const char *bytes, size_t len)
{
    json_error_t e;
    rf_json_cursor c;
    rf_error err = {0};
    if (memchr(bytes, 0, len)) /* jansson loses a NUL that follows a number */
        return;
    char *copy = malloc(len + 1);
    need(copy != NULL);
    memcpy(copy, bytes, len);
    rf_json_start(&c, copy, len, "fuzz", 1);
    rf_status st = rf_json_skip(&c, &err);
    if (st == RF_OK)
        st = rf_json_finish(&c, &err);
    json_t *want = json_loadb(bytes, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    int code = want ? 0 : (int)json_error_code(&e);
    need(st == RF_ERR_LIMIT || !want == (st != RF_OK) ||
         (st == RF_OK &&
          (code == json_error_numeric_overflow || code == json_error_null_byte_in_key)));
    json_decref(want);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const rf_data_format formats[] = {
        RF_DATA_AUTO,      RF_DATA_AUTO,    RF_DATA_AUTO,  RF_DATA_CSV,
        RF_DATA_JSONL,     RF_DATA_JSON,    RF_DATA_LUIS,  RF_DATA_SNIPS,
        RF_DATA_RASA_YAML, RF_DATA_RASA_MD, RF_DATA_LINES, RF_DATA_FASTTEXT};
    static const char *const encodings[] = {NULL, "utf-16le", "latin1", "bytes"};
    if (len < 2)
        return 0;
    unsigned which = bytes[0] % (sizeof formats / sizeof *formats), more = bytes[1];
    const rf_data_options o = {.format = formats[which],
                               .skip_bad_rows = more & 1,
                               .texts_only = more >> 1 & 1,
                               .part = more >> 2 & 1 ? "all" : NULL,
                               .encoding = encodings[more >> 3 & 3],
                               .max_unpacked = (size_t)1 << 20};
    const char *text = (const char *)bytes + 2;
    summing pieces = {0}, whole = {0};
    rf_error err = {0}, err_whole = {0};
    rf_status st =
        read_in_steps(which, &o, text, len - 2, 1 + (more >> 5), &pieces, &err);
    rf_status st_whole = read_in_steps(which, &o, text, len - 2, len, &whole, &err_whole);
    need(st == st_whole && pieces.rows == whole.rows && pieces.sum == whole.sum);
    need(st == RF_OK || err.msg[0] != '\0');
    compare_json(text, len - 2);
    return 0;
}
