/*
 * Labelled data that is not as it should be: each fault refused with the right status,
 * at the right line, with words that name what was found.
 */
#include "data/dataset.h"
#include "data/records.h"

#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TSV .format = RF_DATA_TSV
#define CSV .format = RF_DATA_CSV
#define JSONL .format = RF_DATA_JSONL
#define RAW .raw_tsv = true
#define COLUMNS(text, label) .text_column = text, .label_column = label

/* From memory; it must fail, with an rf_error and without. */
static void refuse(const char *bytes, size_t len, size_t step, const rf_data_options *o,
                   rf_error *err)
{
    for (int with = 0; with < 2; with++) {
        rf_source s;
        if (rf_source_open_bytes(&s, bytes, len, step, "bad.file", with ? err : NULL) !=
            RF_OK)
            continue;
        rf_dataset *data = rf_dataset_read_from(&s, NULL, o, with ? err : NULL);
        if (data)
            fail_msg("%.*s was accepted", len < 100 ? (int)len : 100, bytes);
        rf_source_close(&s);
    }
}

static const struct {
    rf_data_options o;
    const char *bytes;
    rf_status code;
    size_t line;
    const char *words[4];
} faults[] = {
    /* No rows */
    {{0}, "", RF_ERR_FORMAT, 0, {"empty"}},
    {{TSV}, "\n\r\n\n", RF_ERR_FORMAT, 0, {"empty"}},
    {{JSONL}, " \n\n", RF_ERR_FORMAT, 0, {"empty"}},
    {{0}, "\xEF\xBB\xBF", RF_ERR_FORMAT, 0, {"empty"}},
    {{TSV}, "\ntext\tlabel\n\n", RF_ERR_FORMAT, 2, {"no rows", "line 2"}},
    {{RAW}, "text\tlabel\na\nb\n", RF_ERR_FORMAT, 1, {"no rows", "2 dropped"}},

    /* Fields */
    {{TSV}, "text\tlabel\na\tx\nb\n", RF_ERR_FORMAT, 3, {"found 1 col", "wanted 2"}},
    {{TSV}, "a\tx\n\nb\tc\td\n", RF_ERR_FORMAT, 3, {"found 3 col", "wanted 2", "line 1"}},
    {{CSV}, "text,label\na,x\n  \n", RF_ERR_FORMAT, 3, {"found 1 col"}},
    {{CSV}, "text,label\na,x\n\"\"\n", RF_ERR_FORMAT, 3, {"found 1 col"}},
    {{CSV}, "text\na\n", RF_ERR_FORMAT, 1, {"found 1 col", "comma"}},
    {{CSV, .delimiter = ';'}, "text,label\na,x\n", RF_ERR_FORMAT, 1, {"semicolon"}},
    {{CSV},
     "text,label\na,x\ntext,label\nb,y\n",
     RF_ERR_FORMAT,
     3,
     {"header of line 1", "one by one"}},
    {{TSV}, "text,label\na,x\n", RF_ERR_FORMAT, 1, {"found 1 col", "tab"}},
    {{RAW}, "text\na\tx\n", RF_ERR_FORMAT, 1, {"found 1 col", "tab"}},

    /* Quotes */
    {{CSV}, "text,label\na,x\n\"b,y\nc,z\n", RF_ERR_FORMAT, 3, {"line 3", "not closed"}},
    {{CSV},
     "text,label\n\"b\n\n\" c,y\n",
     RF_ERR_FORMAT,
     4,
     {"line 4", "0x20", "line 2", "comma"}},
    {{TSV}, "text\tlabel\n\"b\" c\ty\n", RF_ERR_FORMAT, 2, {"line 2", "tab", "raw-tsv"}},
    {{CSV}, "text,label\na,\"x\"\ry\n", RF_ERR_FORMAT, 2, {"line 2", "0x79"}},
    {{CSV}, "text,label\na,x\n\"", RF_ERR_FORMAT, 3, {"line 3", "not closed"}},
    {{CSV}, "text,label\n\"a\nb\nc\",x\nd\n", RF_ERR_FORMAT, 5, {"line 5", "found 1"}},

    /* Columns */
    {{CSV, COLUMNS("phrase", NULL)},
     "\ntext,label\n",
     RF_ERR_FORMAT,
     2,
     {"line 2", "text column \"phrase\"", "\"text\", \"label\""}},
    {{CSV, COLUMNS(NULL, "kind")},
     "text,label\n",
     RF_ERR_FORMAT,
     1,
     {"label column \"kind\""}},
    {{CSV, COLUMNS("3", NULL)},
     "text,label\n",
     RF_ERR_FORMAT,
     1,
     {"found 2 columns", "column 3"}},
    {{CSV, COLUMNS("1", "99999999999999999999999999")},
     "a,b\n",
     RF_ERR_FORMAT,
     1,
     {"found 2 columns", "label in column 999"}},
    {{CSV, COLUMNS("0", NULL)}, "a,b\n", RF_ERR_ARG, 0, {"count from 1"}},
    {{CSV, COLUMNS("", NULL)}, "a,b\n", RF_ERR_ARG, 0, {"text column is empty"}},
    {{CSV, COLUMNS("2", "2")}, "a,b\n", RF_ERR_ARG, 0, {"column 2", "both"}},
    {{CSV, COLUMNS("label", NULL)}, "text,label\n", RF_ERR_ARG, 0, {"both"}},
    {{CSV, COLUMNS("a", NULL), .header = RF_HEADER_NO},
     "a,b\n",
     RF_ERR_ARG,
     0,
     {"\"a\"", "no header"}},
    {{CSV}, "Text,TEXT,label\n1,2,3\n", RF_ERR_FORMAT, 1, {"2 columns", "\"text\""}},
    {{CSV}, "text,text,label\n1,2,3\n", RF_ERR_FORMAT, 1, {"2 columns", "\"text\""}},
    {{CSV}, "text,label,label\n1,2,3\n", RF_ERR_FORMAT, 1, {"2 columns", "\"label\""}},
    {{CSV}, "1,2,3\n", RF_ERR_FORMAT, 1, {"3 columns", "text?", "\"1\", \"2\", \"3\""}},
    {{CSV, COLUMNS("2", NULL)}, "1,2,3\n", RF_ERR_FORMAT, 1, {"label?"}},
    {{CSV, .header = RF_HEADER_YES}, "id,text,y\n", RF_ERR_FORMAT, 1, {"label?"}},

    /* Labels */
    {{TSV}, "text\tlabel\na\tx\nb\t\n", RF_ERR_FORMAT, 3, {"line 3", "label is empty"}},
    {{TSV}, "text\tlabel\na\t  \n", RF_ERR_FORMAT, 2, {"label is empty"}},
    {{TSV}, "text\tlabel\na\t\"x\ty\"\n", RF_ERR_FORMAT, 2, {"\"x?y\"", "U+0009"}},
    {{CSV}, "text,label\na,x\n\nb,\"x\ny\"\n", RF_ERR_FORMAT, 4, {"line 4", "U+000A"}},
    {{CSV}, "text,label\na,x\x1b[31m\n", RF_ERR_FORMAT, 2, {"U+001B", "byte 2"}},
    {{CSV}, "text,label\na,x\x7f\n", RF_ERR_FORMAT, 2, {"U+007F"}},
    {{CSV}, "text,label\na,x\xC2\x9B\n", RF_ERR_FORMAT, 2, {"U+009B"}},
    {{CSV}, "text,label\na,caf\xE9\n", RF_ERR_FORMAT, 2, {"not UTF-8", "byte 4", "0xE9"}},
    {{CSV}, "text,label\na,\xC0\x80\n", RF_ERR_FORMAT, 2, {"not UTF-8"}},
    {{CSV}, "text,label\na,\xED\xA0\x80\n", RF_ERR_FORMAT, 2, {"not UTF-8"}},
    {{JSONL}, "{\"text\":\"a\",\"label\":\"x\\u0000\"}", RF_ERR_FORMAT, 1, {"U+0000"}},
    {{JSONL}, "{\"text\":\"a\",\"label\":\"\"}", RF_ERR_FORMAT, 1, {"label is empty"}},

    /* Objects */
    {{JSONL},
     "{\"text\":\"a\",\"label\":\"x\"}\n\n{\"text\":\"a\"\n",
     RF_ERR_FORMAT,
     3,
     {"line 3", "not valid JSON", "column"}},
    {{JSONL}, "[1]\n", RF_ERR_FORMAT, 1, {"line 1", "an array", "an object"}},
    {{JSONL}, "{\"text\":\"a\",\"label\":\"x\"} {}\n", RF_ERR_FORMAT, 1, {"line 1"}},
    {{JSONL},
     "{\"text\":\"a\",\"text\":\"b\",\"label\":\"x\"}",
     RF_ERR_FORMAT,
     1,
     {"2 keys", "\"text\""}},
    {{JSONL},
     "{\"text\":\"a\",\"label\":\"x\"}\n{\"label\":\"x\",\"text\":\"\",\"text\":\"b\"}",
     RF_ERR_FORMAT,
     2,
     {"\"text\" occurs twice"}},
    {{JSONL},
     "{\"text\":\"a\",\"y\":\"x\"}",
     RF_ERR_FORMAT,
     1,
     {"label?", "\"text\", \"y\""}},
    {{JSONL}, "{}", RF_ERR_FORMAT, 1, {"0 keys", "text?"}},
    {{JSONL, COLUMNS("1", "2")},
     "{\"text\":\"a\",\"label\":\"x\"}",
     RF_ERR_FORMAT,
     1,
     {"\"1\""}},
    {{JSONL},
     "{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\"}",
     RF_ERR_FORMAT,
     2,
     {"line 2", "\"label\" is missing"}},
    {{JSONL},
     "{\"text\":1,\"label\":\"x\"}",
     RF_ERR_FORMAT,
     1,
     {"\"text\" is an integer", "a string"}},
    {{JSONL},
     "{\"text\":\"a\",\"label\":null}",
     RF_ERR_FORMAT,
     1,
     {"\"label\" is null", "a string or an integer"}},
    {{JSONL}, "{\"text\":\"a\",\"label\":1.5}", RF_ERR_FORMAT, 1, {"a fraction"}},
    {{JSONL}, "{\"text\":\"a\",\"label\":true}", RF_ERR_FORMAT, 1, {"a boolean"}},
    {{JSONL}, "{\"text\":\"\xFF\",\"label\":\"x\"}", RF_ERR_FORMAT, 1, {"0xFF", "UTF-8"}},

    /* Not text at all */
    {{0}, "\xFF\xFEt\xC3", RF_ERR_FORMAT, 0, {"UTF-16"}},
    {{0}, "\xFE\xFF\x01t", RF_ERR_FORMAT, 0, {"UTF-16"}},
    {{0}, "PK\x03\x04xyz", RF_ERR_FORMAT, 0, {"zip"}},
    {{0},
     "\xFD"
     "7zXZ\x01",
     RF_ERR_FORMAT,
     0,
     {"xz"}},
    {{0}, "BZh91AY&SY", RF_ERR_FORMAT, 0, {"bzip2"}},
    {{0}, "\x1F\x8B\x08", RF_ERR_FORMAT, 0, {"gzip"}},
    {{0}, "\x28\xB5\x2F\xFD", RF_ERR_FORMAT, 0, {"zstd"}},

    /* Options */
    {{CSV, RAW}, "a,b\n", RF_ERR_ARG, 0, {"raw TSV", "\"csv\""}},
    {{JSONL, RAW}, "a,b\n", RF_ERR_ARG, 0, {"raw TSV", "\"jsonl\""}},
    {{.format = (rf_data_format)70}, "a,b\n", RF_ERR_ARG, 0, {"format 70"}},
    {{.header = (rf_data_header)7}, "a,b\n", RF_ERR_ARG, 0, {"header 7"}},
};

static void each_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        for (size_t step = 1; step < 100; step += 49) {
            rf_error err = {0};
            refuse(faults[i].bytes, strlen(faults[i].bytes), step, &faults[i].o, &err);
            const char *const *w = faults[i].words;
            if (err.pos != faults[i].line)
                fail_msg("%s: at %zu, want %zu", err.msg, err.pos, faults[i].line);
            assert_error(&err, faults[i].code, "bad.file", w[0], w[1] ? w[1] : "",
                         w[2] ? w[2] : "", w[3] ? w[3] : "");
        }
    }
}

/* ---- Limits ------------------------------------------------------------------------ */

/* A file of one row: before, n times fill, after. */
static rf_dataset *read_long(const rf_data_options *o, const char *before, size_t n,
                             char fill, const char *after, rf_error *err)
{
    size_t head = strlen(before), tail = strlen(after);
    char *bytes = malloc(head + n + tail);
    assert_non_null(bytes);
    memcpy(bytes, before, head);
    memset(bytes + head, fill, n);
    memcpy(bytes + head + n, after, tail);
    rf_source s;
    assert_int_equal(
        rf_source_open_bytes(&s, bytes, head + n + tail, 65536, "bad.file", err), RF_OK);
    rf_dataset *data = rf_dataset_read_from(&s, NULL, o, err);
    rf_source_close(&s);
    free(bytes);
    return data;
}

static void limits(void **state)
{
    (void)state;
    static const struct {
        rf_data_options o;
        const char *before;
        char fill;
        const char *after;
        size_t most; /* of fill */
        const char *words;
    } cases[] = {
        {{TSV}, "a\tx\n", 'a', "\tx\n", RF_MAX_TEXT_BYTES, "text has 16777217 bytes"},
        {{RAW}, "a\tx\n", 'a', "\tx\n", RF_MAX_TEXT_BYTES, "text has 16777217 bytes"},
        {{CSV}, "a,x\n\"", '\n', "\",x\n", RF_MAX_TEXT_BYTES, "text has 16777217 bytes"},
        {{JSONL},
         "\n{\"label\":\"x\",\"text\":\"",
         'a',
         "\"}\n",
         RF_MAX_TEXT_BYTES,
         "text has 16777217 bytes"},
        {{TSV}, "a\tx\nb\t", 'l', "\n", RF_MAX_LABEL_BYTES, "label \"llll"},
        {{CSV, COLUMNS("1", "2")}, "a,x", ',', "", RF_MAX_COLUMNS - 2, "1025 columns"},
        /* Whole records: the rest of the line counts too. */
        {{CSV, COLUMNS("1", "2")},
         "a,x,\nb,y,",
         'c',
         "\n",
         RF_MAX_RECORD - 5,
         "more than 67108864 bytes"},
        {{RAW, COLUMNS("1", "2")},
         "a\tx\t\nb\ty\t",
         'c',
         "\n",
         RF_MAX_RECORD - 5,
         "more than 67108864 bytes"},
        {{JSONL},
         "\n{\"text\":\"a\",\"label\":\"x\"",
         ' ',
         "}\n",
         RF_MAX_RECORD - 25,
         "more than 67108864 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_error err = {0};
        rf_dataset *data = read_long(&cases[i].o, cases[i].before, cases[i].most,
                                     cases[i].fill, cases[i].after, &err);
        if (!data)
            fail_msg("case %zu: %s", i, err.msg);
        rf_dataset_free(data);
        assert_null(read_long(&cases[i].o, cases[i].before, cases[i].most + 1,
                              cases[i].fill, cases[i].after, &err));
        assert_error(&err, RF_ERR_LIMIT, "bad.file: line", cases[i].words);
        assert_int_equal(err.pos, strchr(cases[i].before, '\n') ? 2 : 1);
    }
}

/* A hundred megabytes without a line end (a hole in a file: NUL bytes). */
static void endless_line(void **state)
{
    (void)state;
    static const rf_data_options options[] = {{TSV}, {CSV}, {RAW}, {JSONL}, {0}};
    static const char *const starts[] = {"text\tlabel\n", "text,label\n\"",
                                         "text\tlabel\n", "\n", "{"};
    static const size_t lines[] = {2, 2, 2, 2, 1};
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    scratch_make(dir);
    scratch_path(path, dir, "endless");
    for (size_t i = 0; i < 5; i++) {
        rf_error err = {0};
        scratch_write(dir, "endless", starts[i], strlen(starts[i]));
        assert_int_equal(truncate(path, 100000000), 0);
        rf_data_options o = options[i];
        o.struct_size = sizeof o;
        assert_null(rf_dataset_read(path, &o, &err));
        assert_error(&err, RF_ERR_LIMIT, path, "without an end",
                     i == 1 ? "is a quote left open?" : "");
        assert_int_equal(err.pos, lines[i]);
    }
    scratch_remove(dir);
}

/* ---- Files ------------------------------------------------------------------------- */

static void files(void **state)
{
    (void)state;
    static const unsigned char gz[] = {/* "a,x\n", gzip */
                                       0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x00, 0x03, 0x4b, 0xd4, 0xa9, 0xe0, 0x02, 0x00,
                                       0x1e, 0xea, 0xba, 0x94, 0x04, 0x00, 0x00, 0x00};
    /* "a,x\n" by zstd, raw block, with a checksum */
    static const unsigned char zst[] = {0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x04,
                                        0x21, 0x00, 0x00, 'a',  ',',  'x',
                                        '\n', 0x00, 0x00, 0x00, 0x00};
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    scratch_make(dir);
    scratch_path(path, dir, "x.csv");
    assert_null(rf_dataset_read(path, NULL, &err));
    assert_error(&err, RF_ERR_MISSING, path, "cannot open");
    assert_null(rf_dataset_read(path, NULL, NULL));
    assert_null(rf_dataset_read(dir, NULL, &err));
    assert_error(&err, RF_ERR_FORMAT, dir, "no labelled data", "directory");

    rf_source s;
    const char *bytes = (const char *)gz;
    refuse(bytes, 11, 100, NULL, &err); /* cut in the middle */
    assert_error(&err, RF_ERR_FORMAT, "bad.file", "cannot unpack", "truncated");
    refuse(bytes, sizeof gz - 1, 100, NULL, &err); /* and in its last bytes */
    assert_error(&err, RF_ERR_FORMAT, "bad.file", "cannot unpack");
    bytes = (const char *)zst;
    refuse(bytes, sizeof zst - 6, 100, NULL, &err);
    assert_error(&err, RF_ERR_FORMAT, "bad.file", "cannot unpack", "runcated");
    refuse(bytes, sizeof zst, 100, NULL, &err); /* the checksum is wrong */
    assert_error(&err, RF_ERR_FORMAT, "bad.file", "cannot unpack", "checksum");
    assert_int_equal(
        rf_source_open_bytes(&s, (const char *)gz, sizeof gz, 5, "good", &err), RF_OK);
    rf_dataset *data = rf_dataset_read_from(&s, NULL, NULL, &err);
    assert_non_null(data);
    assert_string_equal(rf_dataset_text(data, 0, NULL), "a");
    rf_dataset_free(data);
    rf_source_close(&s);
    rf_source_close(&s); /* twice is harmless */
    scratch_remove(dir);
}

/* ---- Rows by hand ------------------------------------------------------------------ */

static void a_refused_row_changes_nothing(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *data = rf_dataset_new(&err);
    char *text = calloc(1, RF_MAX_TEXT_BYTES + 1), label[RF_MAX_LABEL_BYTES + 1];
    memset(label, 'l', sizeof label);
    assert_int_equal(rf_dataset_add(data, "a", 1, "x", 1, &err), RF_OK);
    assert_int_equal(rf_dataset_add(data, text, RF_MAX_TEXT_BYTES + 1, "y", 1, &err),
                     RF_ERR_LIMIT);
    assert_error(&err, RF_ERR_LIMIT, "16777217", "16777216");
    assert_int_equal(rf_dataset_add(data, "a", 1, label, sizeof label, &err),
                     RF_ERR_LIMIT);
    assert_int_equal(rf_dataset_add(data, "a", 1, "", 0, &err), RF_ERR_FORMAT);
    assert_int_equal(rf_dataset_add(data, "a", 1, "y\n", 2, &err), RF_ERR_FORMAT);
    assert_int_equal(rf_dataset_add(data, "a", 1, "y\0", 2, NULL), RF_ERR_FORMAT);
    assert_int_equal(rf_dataset_add(data, "a", 1, "\xE9", 1, &err), RF_ERR_FORMAT);
    assert_int_equal(rf_dataset_rows(data), 1);
    assert_int_equal(rf_dataset_classes(data), 1);
    assert_int_equal(
        rf_dataset_add(data, text, RF_MAX_TEXT_BYTES, label, sizeof label - 1, &err),
        RF_OK);
    assert_int_equal(rf_dataset_classes(data), 2);
    rf_dataset_free(data);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault),
        cmocka_unit_test(limits),
        cmocka_unit_test(endless_line),
        cmocka_unit_test(files),
        cmocka_unit_test(a_refused_row_changes_nothing),
    };
    return cmocka_run_group_tests_name("bad data", tests, NULL, NULL);
}
