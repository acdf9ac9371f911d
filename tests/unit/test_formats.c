/*
 * The formats that people have: every sample in tests/formats holds the same six rows,
 * written out in want.tsv. Then what the samples cannot show: encodings, packing, parts,
 * bad rows, several files, and files that would like to fill the memory.
 */
#include "base/buffer.h"
#include "data/dataset.h"

#include "scratch.h"

#include <archive.h>
#include <archive_entry.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SAMPLES FORMATS_DIR "/"

/* ---- Helpers ----------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "text\tlabel\n" of every row, malloc'ed; sorted if the order is that of file names. */
static char *rows_of(const rf_dataset *data, bool sorted)
{
    size_t n = rf_dataset_rows(data);
    char **lines = calloc(n, sizeof *lines);
    rf_buffer all;
    rf_buffer_init(&all, (size_t)1 << 20, "rows");
    for (size_t i = 0; i < n; i++) {
        const char *text = rf_dataset_text(data, i, NULL);
        const char *label = rf_dataset_label(data, rf_dataset_class(data, i), NULL);
        size_t size = strlen(text) + strlen(label) + 3;
        lines[i] = malloc(size);
        snprintf(lines[i], size, "%s\t%s\n", text, label);
    }
    if (sorted)
        qsort(lines, n, sizeof *lines, by_bytes);
    for (size_t i = 0; i < n; i++) {
        rf_buffer_add(&all, lines[i], strlen(lines[i]), NULL);
        free(lines[i]);
    }
    free(lines);
    return all.data;
}

static rf_dataset *read_file(const char *path, const rf_data_options *o)
{
    rf_error err = {0};
    rf_data_options full = o ? *o : rf_data_options_default();
    full.struct_size = sizeof full;
    rf_dataset *data = rf_dataset_read(path, &full, &err);
    if (!data)
        fail_msg("%s", err.msg);
    return data;
}

static void check_file(const char *path, const rf_data_options *o, bool sorted)
{
    rf_dataset *want = read_file(SAMPLES "want.tsv", NULL), *got = read_file(path, o);
    char *a = rows_of(want, sorted), *b = rows_of(got, sorted);
    if (strcmp(a, b) != 0)
        fail_msg("%s: got\n%swant\n%s", path, b, a);
    free(a);
    free(b);
    rf_dataset_free(want);
    rf_dataset_free(got);
}

static void refuse_file(const char *path, const rf_data_options *o, rf_status code,
                        const char *a, const char *b)
{
    rf_error err = {0};
    rf_data_options full = o ? *o : rf_data_options_default();
    full.struct_size = sizeof full;
    assert_null(rf_dataset_read(path, &full, &err));
    assert_error(&err, code, a, b);
}

static char dir[RF_PATH_MAX], path[RF_PATH_MAX];

static void write_file(const char *name, const void *bytes, size_t len)
{
    scratch_write(dir, name, bytes, len);
    scratch_path(path, dir, name);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static int make_dir(void **state)
{
    (void)state;
    scratch_make(dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

/* ---- Samples ----------------------------------------------------------------------- */

static const struct {
    const char *name, *part;
    rf_data_format format;
} samples[] = {
    {"comma.csv", NULL, RF_DATA_CSV},
    {"excel.csv", NULL, RF_DATA_CSV},
    {"no_header.csv", NULL, RF_DATA_CSV},
    {"bars.csv", NULL, RF_DATA_CSV},
    {"rows.jsonl", NULL, RF_DATA_JSONL},
    {"array.json", NULL, RF_DATA_JSON},
    {"pairs.json", NULL, RF_DATA_JSON},
    {"columns.json", NULL, RF_DATA_JSON},
    {"wrapped.json", NULL, RF_DATA_JSON},
    {"clinc.json", "train", RF_DATA_JSON},
    {"fasttext.txt", NULL, RF_DATA_FASTTEXT},
    {"nlu.yml", NULL, RF_DATA_RASA_YAML},
    {"nlu.md", NULL, RF_DATA_RASA_MD},
    {"luis.json", NULL, RF_DATA_LUIS},
    {"clu.json", "Train", RF_DATA_LUIS},
    {"snips.json", NULL, RF_DATA_SNIPS},
    {"snips_2017.json", NULL, RF_DATA_SNIPS},
    {"dialogflow_es", NULL, RF_DATA_DIALOGFLOW},
    {"dialogflow_cx", NULL, RF_DATA_DIALOGFLOW},
    {"folders", NULL, RF_DATA_FOLDERS},
};

static void every_sample_has_the_same_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char file[RF_PATH_MAX];
        rf_data_format format;
        rf_data_options o = rf_data_options_default();
        o.part = samples[i].part;
        snprintf(file, sizeof file, SAMPLES "%s", samples[i].name);
        assert_int_equal(rf_data_detect(file, &o, &format, NULL, NULL), RF_OK);
        if (format != samples[i].format)
            fail_msg("%s: taken for %s", file, rf_data_format_name(format, NULL));
        bool sorted = samples[i].format == RF_DATA_DIALOGFLOW ||
                      samples[i].format == RF_DATA_FOLDERS;
        check_file(file, &o, sorted);
        o.format = samples[i].format; /* also if it is told */
        check_file(file, &o, sorted);
    }
}

static void add_member(struct archive *a, const char *name)
{
    char from[RF_PATH_MAX];
    size_t len;
    snprintf(from, sizeof from, SAMPLES "%s", name);
    char *bytes = scratch_read(from, &len);
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, (la_int64_t)len);
    assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, bytes, len), len);
    archive_entry_free(entry);
    free(bytes);
}

/* The exports in a zip, as the services give them. */
static void zip_archives(void **state)
{
    (void)state;
    static const char *const classes[] = {"where_is_order", "return_item", "call_me"};
    for (int cx = 0; cx < 2; cx++) {
        struct archive *a = archive_write_new();
        archive_write_set_format_zip(a);
        scratch_path(path, dir, "export.zip");
        assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
        add_member(a, cx ? "dialogflow_cx/agent.json" : "dialogflow_es/agent.json");
        for (size_t i = 0; i < 3; i++) {
            char name[300];
            snprintf(name, sizeof name,
                     cx ? "dialogflow_cx/intents/%s/trainingPhrases/en.json"
                        : "dialogflow_es/intents/%s_usersays_en.json",
                     classes[i]);
            add_member(a, name);
        }
        assert_int_equal(archive_write_close(a), ARCHIVE_OK);
        archive_write_free(a);
        check_file(path, NULL, false); /* in the order of the archive */
        const rf_data_options o = {.max_unpacked = 300};
        refuse_file(path, &o, RF_ERR_LIMIT, "more than 300 bytes", "--max-unpacked");
    }
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    archive_write_set_format_zip(a);
    scratch_path(path, dir, "x.xlsx");
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    archive_entry_set_pathname(entry, "xl/workbook.xml");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, 0);
    assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_entry_free(entry);
    archive_write_free(a);
    refuse_file(path, NULL, RF_ERR_FORMAT, "x.xlsx: this is a spreadsheet", "as CSV");
    static const char cut[] = "PK\x03\x04xyz";
    write_file("cut.zip", cut, sizeof cut - 1);
    refuse_file(path, NULL, RF_ERR_FORMAT, "cut.zip", "zip archive");
}

/* ---- Encodings --------------------------------------------------------------------- */

/* Into the other encoding, by iconv. */
static size_t convert_text(char *to, size_t room, const char *text, const char *encoding)
{
    iconv_t cd = iconv_open(encoding, "UTF-8");
    char *in = (char *)(uintptr_t)text, *out = to;
    size_t left = strlen(text), room_left = room;
    assert_true(cd != (iconv_t)-1);
    assert_int_equal(iconv(cd, &in, &left, &out, &room_left), 0);
    iconv_close(cd);
    return room - room_left;
}

static void other_encodings(void **state)
{
    (void)state;
    static const char text[] = "text;label\ncaf\u00e9 au lait;dr\u00fcck\nna\u00efve;x\n";
    static const struct {
        const char *name, *hint;
    } encodings[] = {{"latin1", "latin1"},
                     {"windows-1252", "latin1"},
                     {"utf-16", "utf-16"},
                     {"utf-16le", "utf-16le"},
                     {"utf-16be", "utf-16be"}};
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        char bytes[500], hint[60];
        size_t n = convert_text(bytes, sizeof bytes, text, encodings[i].name);
        write_file("x.csv", bytes, n);
        snprintf(hint, sizeof hint, "--encoding %s", encodings[i].hint);
        refuse_file(path, NULL, RF_ERR_FORMAT, i < 2 ? "line 2: the text" : "UTF-16",
                    hint);
        for (size_t step = 1; step < 8; step++) { /* characters cut anywhere */
            rf_source s;
            rf_error err = {0};
            rf_data_options o = {.encoding = encodings[i].name};
            assert_int_equal(rf_source_open_bytes(&s, bytes, n, step, "x", NULL), RF_OK);
            rf_dataset *data = rf_dataset_read_from(&s, "x.csv", &o, &err);
            rf_source_close(&s);
            if (!data)
                fail_msg("%s: %s", encodings[i].name, err.msg);
            char *rows = rows_of(data, false);
            assert_string_equal(rows, "caf\u00e9 au lait\tdr\u00fcck\nna\u00efve\tx\n");
            free(rows);
            rf_dataset_free(data);
        }
    }
    write_text("x.csv", "text,label\nwell \x93quoted\x94,x\n");
    refuse_file(path, NULL, RF_ERR_FORMAT, "line 2", "--encoding windows-1252");
    write_text("x.csv", "text,label\nfine,\xe9t\xe9\n");
    refuse_file(path, NULL, RF_ERR_FORMAT, "the label is not UTF-8", "latin1");
    const rf_data_options utf16 = {.encoding = "utf-16le"};
    write_file("x.csv", "a\0,\0b", 5);
    refuse_file(path, &utf16, RF_ERR_FORMAT, "middle of a character", "utf-16le");
    const rf_data_options none = {.encoding = "klingon"};
    refuse_file(path, &none, RF_ERR_ARG, "klingon", "no such encoding");
}

/* ---- Rows that are wrong ----------------------------------------------------------- */

static void bad_rows_are_skipped_and_counted(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes, *want, *why;
        size_t skipped;
    } files[] = {
        {"x.tsv", "text\tlabel\na\tx\nb\t \nc\n\xff\tx\nd\ty\n", "a\tx\nd\ty\n",
         "line 3: the label is empty", 3},
        {"x.jsonl", "{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\"}\n", "a\tx\n",
         "line 2: \"label\" is missing", 1},
        {"x.json", "[[\"a\",\"x\"],\n[\"b\"],[null,\"y\"],[\"c\",7]]", "a\tx\nc\t7\n",
         "line 2: an array of 1 values", 2},
        {"x.txt", "__label__x a\nno label\n__label__x __label__y b\n__label__y c\n",
         "a\tx\nc\ty\n", "line 2: no __label__", 2},
        {"x.md", "## intent:x\n- a\nb\n", "a\tx\n", "line 3: found \"b\"", 1},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        rf_data_summary s;
        const rf_data_options skip = {.skip_bad_rows = true};
        write_text(files[i].name, files[i].bytes);
        refuse_file(path, NULL, RF_ERR_FORMAT, files[i].name, files[i].why);
        rf_dataset *data = read_file(path, &skip);
        char *rows = rows_of(data, false);
        assert_string_equal(rows, files[i].want);
        assert_int_equal(rf_dataset_summarize(data, &s, NULL), RF_OK);
        assert_int_equal(s.skipped, files[i].skipped);
        assert_non_null(strstr(s.skipped_why, files[i].why));
        free(rows);
        rf_dataset_free(data);
    }
    const rf_data_options skip = {.skip_bad_rows = true};
    write_text("x.tsv", "text\tlabel\na\t\n");
    refuse_file(path, &skip, RF_ERR_FORMAT, "no row is good", "the label is empty");
}

static void wrong_content(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes, *a, *b;
    } files[] = {
        {"x.yml", "nlu:\n- intent: a\n  examples: |\n    - b\n x: [", "line", "YAML"},
        {"x.yml", "rules:\n- a\n", "no key \"nlu\"", "nlu.yml"},
        {"x.yml", "nlu:\n- examples: |\n    - b\n  intent: a\n", "line 4", "above"},
        {"x.yml", "nlu:\n- intent: &a b\n  examples: *a\n", "line 3", "alias"},
        {"x.json", "{\"a\": 1}", "no rows found", "wanted an array"},
        {"x.json", "[{\"a\": 1}]", "which of the 1 keys", "text"},
        {"x.json", "[{\"text\": \"a\", \"label\": \"b\"}", "line 1", "comma or ]"},
        {"x.json", "{\"text\": [\"a\", \"b\"], \"label\": [\"x\"]}", "more texts",
         "labels"},
        {"luis.json", "{\"luis_schema_version\": \"7\", \"utterances\": [{\"text\": 1}]}",
         "\"text\" is an integer", "line 1"},
        {"x.rf", "\x10\0\0\0\0\0\0\0{\"a\": 1}", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].a) {
            write_text(files[i].name, files[i].bytes);
            refuse_file(path, NULL, RF_ERR_FORMAT, files[i].a, files[i].b);
        } else {
            write_file(files[i].name, files[i].bytes, 16);
            refuse_file(path, NULL, RF_ERR_FORMAT, "this is a model", "wanted texts");
        }
    }
}

static void parts(void **state)
{
    (void)state;
    rf_data_options o = {0};
    rf_dataset *data;
    refuse_file(SAMPLES "clinc.json", &o, RF_ERR_FORMAT, "oos_test, val, train",
                "--part");
    o.part = "dev";
    refuse_file(SAMPLES "clinc.json", &o, RF_ERR_FORMAT, "no part \"dev\"", "val");
    refuse_file(SAMPLES "want.tsv", &o, RF_ERR_FORMAT, "no part \"dev\"", "has no parts");
    o.part = "val,oos_test";
    data = read_file(SAMPLES "clinc.json", &o);
    assert_int_equal(rf_dataset_rows(data), 2);
    rf_dataset_free(data);
    o.part = "all";
    data = read_file(SAMPLES "clinc.json", &o);
    assert_int_equal(rf_dataset_rows(data), 8);
    rf_dataset_free(data);
}

/* ---- Several files ----------------------------------------------------------------- */

static void several_files(void **state)
{
    (void)state;
    static const char *const paths[] = {SAMPLES "excel.csv", SAMPLES "nlu.yml",
                                        SAMPLES "folders"};
    rf_error err = {0};
    rf_dataset *data = rf_dataset_read_files(paths, 3, NULL, &err);
    if (!data)
        fail_msg("%s", err.msg);
    assert_int_equal(rf_dataset_rows(data), 18);
    assert_int_equal(rf_dataset_classes(data), 3);
    assert_string_equal(rf_dataset_file(data, 0), paths[0]);
    assert_string_equal(rf_dataset_file(data, 5), paths[0]);
    assert_int_equal(rf_dataset_line(data, 5), 7);
    assert_string_equal(rf_dataset_file(data, 6), paths[1]);
    assert_int_equal(rf_dataset_line(data, 6), 6);
    assert_string_equal(rf_dataset_file(data, 12), SAMPLES "folders/call_me/1.txt");
    assert_int_equal(rf_dataset_add(data, "more", 4, "x", 1, NULL), RF_OK);
    assert_null(rf_dataset_file(data, 18));
    assert_null(rf_dataset_file(data, 19));
    rf_dataset_free(data);
    assert_null(rf_dataset_read_files(paths, 0, NULL, &err));
    assert_error(&err, RF_ERR_ARG, "no files");
}

/* ---- Bounds ------------------------------------------------------------------------ */

static size_t peak_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss * 1024;
}

/* Files whose tree, or whose unpacked bytes, would be many times their size. */
static void memory_is_bounded(void **state)
{
    (void)state;
    enum { SIZE = 24 << 20 };
    char *bytes = malloc(SIZE + 100);
    size_t before, n = 0;
    n += (size_t)snprintf(bytes, 100, "[{\"text\": \"a\", \"label\": \"x\", \"more\": [");
    while (n < SIZE)
        n += (size_t)snprintf(bytes + n, 8, "{},");
    n += (size_t)snprintf(bytes + n, 8, "{}]}]");
    before = peak_bytes();
    write_file("tree.jsonl", bytes + 1, n - 2);
    rf_dataset_free(read_file(path, NULL));
    write_file("tree.json", bytes, n);
    rf_dataset_free(read_file(path, NULL));
    free(bytes);
    if (peak_bytes() - before > (size_t)12 * SIZE) /* a tree took 75; ASan keeps blocks */
        fail_msg("%zu bytes for a file of %d", peak_bytes() - before, SIZE);
}

static size_t packed(char *to, size_t room, const char *bytes, size_t len, bool zstd)
{
    size_t used = 0;
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    if (zstd)
        archive_write_add_filter_zstd(a);
    else
        archive_write_add_filter_gzip(a);
    archive_write_set_format_raw(a);
    archive_write_set_bytes_in_last_block(a, 1);
    assert_int_equal(archive_write_open_memory(a, to, room, &used), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_pathname(entry, "data");
    archive_write_header(a, entry);
    assert_int_equal(archive_write_data(a, bytes, len), len);
    archive_write_close(a);
    archive_write_free(a);
    archive_entry_free(entry);
    return used;
}

static void packing_is_bounded(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20 };
    char *once = malloc(ROOM), *twice = malloc(ROOM), *text = malloc(ROOM);
    memset(text, 'a', ROOM);
    memcpy(text, "text,label\n", 11);
    memcpy(text + ROOM - 3, ",x\n", 3);
    for (int zstd = 0; zstd < 2; zstd++) {
        size_t n = packed(once, ROOM, text, ROOM, zstd);
        rf_data_options o = {.max_unpacked = ROOM};
        write_file("x.csv.gz", once, n);
        rf_dataset_free(read_file(path, &o));
        o.max_unpacked = ROOM - 1;
        refuse_file(path, &o, RF_ERR_LIMIT, "more than 1048575", "--max-unpacked");
        once[n] = 'x'; /* a byte that belongs to nothing */
        write_file("x.csv.gz", once, n + 1);
        refuse_file(path, NULL, RF_ERR_FORMAT, "x.csv.gz", zstd ? "zstd" : "goes on");
        for (int outer = 0; outer < 2; outer++) {
            size_t m = packed(twice, ROOM, once, n, outer);
            write_file("x.csv.gz", twice, m);
            refuse_file(path, NULL, RF_ERR_FORMAT, "packed data inside", "one layer");
        }
    }
    free(once);
    free(twice);
    free(text);
}

/* ---- Texts without labels ---------------------------------------------------------- */

static rf_status gather(void *user, const rf_table_row *row, rf_error *err)
{
    (void)err;
    char *out = user;
    const rf_field *text = &row->fields[row->text];
    snprintf(out + strlen(out), 300 - strlen(out), "[%zu %zu %.*s]", row->line, row->n,
             (int)text->len, text->data);
    return RF_OK;
}

static void texts_of_tables(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes, *column, *want; /* NULL: refused */
        rf_data_header header;
    } files[] = {
        {"x.txt", "a,b\n\nc\n", NULL, "[1 1 a,b][2 1 ][3 1 c]", 0},
        {"x.txt", "question, please\nlabel\n", NULL, "[1 1 question, please][2 1 label]",
         0},
        {"x.txt", "id,text\n1,a\n", NULL, "[2 2 a]", 0},
        {"x.txt", "id;message;label\n1;a, b;x\n", NULL, "[2 3 a, b]", 0},
        {"x.csv", "text\na\nb\n", NULL, "[2 1 a][3 1 b]", 0},
        {"x.csv", "id,body\n1,a\n", "body", "[2 2 a]", 0},
        {"x.csv", "id,body\n1,a\n", NULL, NULL, 0},
        {"x.csv", "id,body\n1,a\n", "2", NULL, 0},
        {"x.csv", "1,a\n2,b\n", "2", "[1 2 a][2 2 b]", RF_HEADER_NO},
        {"x.jsonl", "{\"text\": \"a\", \"n\": 1}\n", NULL, "[1 2 a]", 0},
        {"x.txt", "{\"query\": \"a\"}\n{\"query\": \"b\"}\n", NULL, "[1 1 a][2 1 b]", 0},
        {"x.txt", "__label__x a b\n", NULL, "[1 2 a b]", 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char got[300] = "";
        rf_error err = {0};
        rf_data_options o = rf_data_options_default();
        o.texts_only = true;
        o.text_column = files[i].column;
        o.header = files[i].header;
        write_text(files[i].name, files[i].bytes);
        rf_status st = rf_table_read(path, &o, gather, got, NULL, &err);
        if (files[i].want && (st != RF_OK || strcmp(got, files[i].want) != 0))
            fail_msg("%s: got %s%s, want %s", files[i].bytes, got, err.msg,
                     files[i].want);
        if (!files[i].want)
            assert_error(&err, RF_ERR_FORMAT, "x.csv: line 1", "--header no");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_has_the_same_rows),
        cmocka_unit_test(zip_archives),
        cmocka_unit_test(other_encodings),
        cmocka_unit_test(bad_rows_are_skipped_and_counted),
        cmocka_unit_test(wrong_content),
        cmocka_unit_test(parts),
        cmocka_unit_test(several_files),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(packing_is_bounded),
        cmocka_unit_test(texts_of_tables),
    };
    return cmocka_run_group_tests_name("formats", tests, make_dir, remove_dir);
}
