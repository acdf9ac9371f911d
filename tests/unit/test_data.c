/*
 * Labelled data as it should be read: each format by cases written out by hand and by
 * random rows that a writer of our own put into the file, in blocks of every size, packed
 * and plain; the benchmark sets row by row against their reference.
 */
#include "base/file.h"
#include "base/rng.h"
#include "data/dataset.h"

#include "scratch.h"
#include "ringfence_encoder.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Helpers ----------------------------------------------------------------------- */

/* From memory, `step` bytes at a time; it must succeed. */
static rf_dataset *read_bytes(const char *bytes, size_t len, size_t step,
                              const char *file_name, const rf_data_options *o)
{
    rf_source s;
    rf_error err = {0};
    if (rf_source_open_bytes(&s, bytes, len, step, "memory", &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_dataset *data = rf_dataset_read_from(&s, file_name, o, &err);
    if (!data)
        fail_msg("%s", err.msg);
    rf_source_close(&s);
    return data;
}

/* "[text|label][text|label]...", malloc'ed */
static char *rendered(const rf_dataset *data)
{
    rf_buffer b;
    rf_buffer_init(&b, (size_t)1 << 28, "rows");
    for (size_t row = 0; row < rf_dataset_rows(data); row++) {
        size_t len;
        const char *text = rf_dataset_text(data, row, &len);
        const char *label = rf_dataset_label(data, rf_dataset_class(data, row), NULL);
        assert_int_equal(text[len], '\0');
        rf_buffer_add(&b, "[", 1, NULL);
        rf_buffer_add(&b, text, len, NULL);
        rf_buffer_add(&b, "|", 1, NULL);
        rf_buffer_add(&b, label, strlen(label), NULL);
        rf_buffer_add(&b, "]", 1, NULL);
    }
    return b.data;
}

static void check_rows(const rf_dataset *data, const char *want, const char *what)
{
    char *got = rendered(data);
    if (!got || strcmp(got, want) != 0)
        fail_msg("%s: got %s, want %s", what, got ? got : "nothing", want);
    free(got);
}

/* Packed by libarchive; malloc'ed. */
static char *packed(const char *bytes, size_t len, bool zstd, size_t *packed_len)
{
    size_t cap = len + 4096, used = 0;
    char *out = malloc(cap);
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    assert_int_equal(zstd ? archive_write_add_filter_zstd(a)
                          : archive_write_add_filter_gzip(a),
                     ARCHIVE_OK);
    assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(a, 1); /* no padding */
    assert_int_equal(archive_write_open_memory(a, out, cap, &used), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_pathname(entry, "data");
    assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, bytes, len), len);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    archive_entry_free(entry);
    *packed_len = used;
    return out;
}

/* ---- Cases ------------------------------------------------------------------------- */

#define TSV .format = RF_DATA_TSV
#define CSV .format = RF_DATA_CSV
#define JSONL .format = RF_DATA_JSONL
#define RAW .raw_tsv = true
#define COLUMNS(text, label) .text_column = text, .label_column = label

typedef struct {
    const char *what;
    rf_data_options o;
    const char *file; /* its name, NULL for standard input */
    const char *bytes;
    const char *want;
} sample;

static const sample samples[] = {
    /* Lines and marks */
    {"plain", {TSV}, NULL, "text\tlabel\na b\tx\nc\ty\n", "[a b|x][c|y]"},
    {"no LF at the end", {TSV}, NULL, "text\tlabel\na b\tx", "[a b|x]"},
    {"CRLF", {TSV}, NULL, "text\tlabel\r\na b\tx\r\nc\ty\r\n", "[a b|x][c|y]"},
    {"CR at the end", {TSV}, NULL, "text\tlabel\na\tx\r", "[a|x]"},
    {"CR inside", {TSV}, NULL, "text\tlabel\na\rb\r\tx\n", "[a\rb\r|x]"},
    {"BOM", {TSV}, NULL, "\xEF\xBB\xBFtext\tlabel\na\tx\n", "[a|x]"},
    {"BOM and quote", {CSV}, NULL, "\xEF\xBB\xBF\"label\",text\nx,a\n", "[a|x]"},
    {"BOM is no name",
     {TSV},
     NULL,
     "\xEF\xBB\xBF"
     "a\tx\n",
     "[a|x]"},
    {"empty lines", {TSV}, NULL, "\n\r\ntext\tlabel\n\na\tx\n\r\n\n", "[a|x]"},
    {"empty lines of CSV", {CSV}, NULL, "\n\ntext,label\n\r\na,x\n\n", "[a|x]"},
    {"empty text", {CSV}, NULL, "text,label\n,x\n\"\",y\n", "[|x][|y]"},
    {"spaces", {CSV}, NULL, "text,label\n a , x y \n", "[ a |x y]"},

    /* Quotes */
    {"RFC 4180", {CSV}, NULL, "text,label\r\n\"a, \"\"b\"\"\",\"x\"\r\n", "[a, \"b\"|x]"},
    {"lines in quotes",
     {CSV},
     NULL,
     "text,label\n\"a\nb\r\n\nc\",x\nd,y\n",
     "[a\nb\r\n\nc|x][d|y]"},
    {"nothing but quotes", {CSV}, NULL, "text,label\n\"\"\"\"\"\",x\n", "[\"\"|x]"},
    {"quotes inside",
     {CSV},
     NULL,
     "text,label\n5\" tall,x\na \"b\" c,y\n",
     "[5\" tall|x][a \"b\" c|y]"},
    {"quotes in TSV",
     {TSV},
     NULL,
     "text\tlabel\n\"a\tb \"\"c\"\"\"\tx\n",
     "[a\tb \"c\"|x]"},
    {"quote closes the file", {CSV}, NULL, "text,label\nx,\"y\"", "[x|y]"},
    {"quote, CR, end", {CSV}, NULL, "text,label\nx,\"y\"\r", "[x|y]"},

    /* Raw TSV */
    {"raw",
     {RAW},
     NULL,
     "text\tlabel\n\"a \"\"b\"\"\tx\n\"c\ty\n",
     "[\"a \"\"b\"\"|x][\"c|y]"},
    {"raw drops",
     {RAW},
     NULL,
     "text\tlabel\n\"a\nb\n\nc\"\tx\nd\te\tf\ng\ty\n",
     "[c\"|x][g|y]"},
    {"raw CRLF", {RAW}, NULL, "text\tlabel\r\n\"a\tx\r\nb\ty\r", "[\"a|x][b|y]"},
    {"raw without header", {RAW}, NULL, "a\tx\nb\nc\ty\n", "[a|x][c|y]"},
    {"raw by name", {RAW, COLUMNS("b", "c")}, NULL, "a\tb\tc\n1\t2\t3\n4\t5\n", "[2|3]"},
    {"raw, any name of file", {RAW}, "x.csv", "text\tlabel\na,b\tx\n", "[a,b|x]"},

    /* Columns */
    {"label first", {TSV}, NULL, "label\ttext\nx\ta\n", "[a|x]"},
    {"case", {TSV}, NULL, "LABEL\tText\nx\ta\n", "[a|x]"},
    {"usual names", {CSV}, NULL, "id, Intent ,utterance\n1,x,a\n", "[a|x]"},
    {"the better name", {CSV}, NULL, "class,label,query,text\nc,l,q,t\n", "[t|l]"},
    {"no header", {CSV}, NULL, "a,x\nb,y\n", "[a|x][b|y]"},
    {"one usual name is not enough", {CSV}, NULL, "text,x\nb,y\n", "[text|x][b|y]"},
    {"by number", {CSV, COLUMNS("3", "1")}, NULL, "x,1,a\ny,2,b\n", "[a|x][b|y]"},
    {"by number under a header",
     {CSV, COLUMNS("3", "1")},
     NULL,
     "label,text,text 2\ny,2,b\n",
     "[b|y]"},
    {"one by number", {CSV, COLUMNS("2", NULL)}, NULL, "x,a\ny,b\n", "[a|x][b|y]"},
    {"other by number", {CSV, COLUMNS(NULL, "1")}, NULL, "x,a\ny,b\n", "[a|x][b|y]"},
    {"by name",
     {CSV, COLUMNS("phrase", "KIND")},
     NULL,
     "Kind,n,Phrase\nx,1,a\n",
     "[a|x]"},
    {"name and number",
     {CSV, COLUMNS("phrase", "1")},
     NULL,
     "k,n,phrase\nx,1,a\n",
     "[a|x]"},
    {"name and the rest",
     {CSV, COLUMNS("phrase", NULL)},
     NULL,
     "k,phrase\nx,a\n",
     "[a|x]"},
    {"the exact name", {CSV}, NULL, "Text,text,TEXT,label\n1,2,3,4\n", "[2|4]"},
    {"case that counts",
     {CSV, COLUMNS("Text", "y")},
     NULL,
     "text,Text,y\n1,2,3\n",
     "[2|3]"},
    {"header said", {CSV, .header = RF_HEADER_YES}, NULL, "phrase,kind\na,x\n", "[a|x]"},
    {"header half known",
     {CSV, .header = RF_HEADER_YES},
     NULL,
     "intent,phrase\nx,a\n",
     "[a|x]"},
    {"no header said",
     {CSV, .header = RF_HEADER_NO},
     NULL,
     "text,label\na,x\n",
     "[text|label][a|x]"},
    {"number past the usual", {TSV, COLUMNS("02", "1")}, NULL, "x\ta\n", "[a|x]"},

    /* JSON Lines */
    {"objects",
     {JSONL},
     NULL,
     "{\"text\": \"a\", \"label\": \"x\"}\n{\"label\": \"y\", \"n\": [1, {}], \"text\": "
     "\"b\"}\n",
     "[a|x][b|y]"},
    {"blank lines",
     {JSONL},
     NULL,
     "\n \t\r\n{\"text\":\"a\",\"label\":\"x\"}\r\n\n",
     "[a|x]"},
    {"integers",
     {JSONL},
     NULL,
     "{\"text\":\"a\",\"label\":0}\n{\"text\":\"b\",\"label\":-12}\n"
     "{\"text\":\"c\",\"label\":\"0\"}",
     "[a|0][b|-12][c|0]"},
    {"escapes",
     {JSONL},
     NULL,
     "{\"text\":\"\\u00e9\\n\\\"\\t\\ud83d\\ude00\",\"label\":\"x\"}\n",
     "[\xC3\xA9\n\"\t\xF0\x9F\x98\x80|x]"},
    {"keys", {JSONL, COLUMNS("2", "1")}, NULL, "{\"1\":\"x\",\"2\":\"a\"}\n", "[a|x]"},
    {"usual keys",
     {JSONL},
     NULL,
     "{\"id\":1,\"Intent\":\"x\",\"query\":\"a\"}\n",
     "[a|x]"},
    {"BOM before an object",
     {JSONL},
     NULL,
     "\xEF\xBB\xBF{\"text\":\"a\",\"label\":\"x\"}",
     "[a|x]"},

    /* Which format */
    {"by name: tsv", {0}, "dir.csv/x.tsv", "a,b\tx,y\n", "[a,b|x,y]"},
    {"by name: TSV.GZ", {0}, "x.TSV.GZ", "a,b\tx,y\n", "[a,b|x,y]"},
    {"by name: csv", {0}, "x.csv", "a\tb,x\n", "[a\tb|x]"},
    {"by name: csv.zst", {0}, "x.csv.zst", "a\tb,x\n", "[a\tb|x]"},
    {"by name: jsonl", {0}, "x.jsonl", "{\"text\":\"a\",\"label\":\"x\"}", "[a|x]"},
    {"by name: ndjson", {0}, "x.ndjson.gz", "{\"text\":\"a\",\"label\":\"x\"}", "[a|x]"},
    {"by content: object",
     {0},
     "x.txt",
     "\n {\"text\":\"a\\tb\",\"label\":\"x\"}",
     "[a\tb|x]"},
    {"by content: tab", {0}, "x", "a,b\tx\n", "[a,b|x]"},
    {"by content: comma", {0}, NULL, "a,x\nb\t,y\n", "[a|x][b\t|y]"},
    {"options before name", {CSV}, "x.tsv", "a\tb,x\n", "[a\tb|x]"},
};

static void cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const sample *s = &samples[i];
        size_t len = strlen(s->bytes), packed_len;
        for (size_t step = 1; step < 20; step += step < 4 ? 1 : 5) {
            rf_dataset *data = read_bytes(s->bytes, len, step, s->file, &s->o);
            check_rows(data, s->want, s->what);
            rf_dataset_free(data);
        }
        for (int zstd = 0; zstd < 2; zstd++) {
            char *bytes = packed(s->bytes, len, zstd, &packed_len);
            assert_true(packed_len > 4 && memcmp(bytes, s->bytes, 4) != 0);
            for (size_t step = 1; step < 1000; step *= 30) {
                rf_dataset *data = read_bytes(bytes, packed_len, step, s->file, &s->o);
                check_rows(data, s->want, s->what);
                rf_dataset_free(data);
            }
            free(bytes);
        }
    }
}

static void raw_counts_what_it_drops(void **state)
{
    (void)state;
    rf_data_options o = {RAW};
    static const char bytes[] = "\ntext\tlabel\n\"a\nb\n\nc\"\tx\nd\te\tf\ng\ty\n";
    rf_data_summary sum;
    rf_dataset *data = read_bytes(bytes, sizeof bytes - 1, 100, NULL, &o);
    assert_int_equal(rf_dataset_summarize(data, &sum, NULL), RF_OK);
    assert_int_equal(sum.dropped, 4); /* "a, b, the empty line, d e f */
    assert_int_equal(sum.rows, 2);
    rf_dataset_free(data);
}

/* A text is bytes if the options say so: NUL and what is not UTF-8 come through. */
static void any_bytes(void **state)
{
    (void)state;
    char bytes[1024] = "text\tlabel\n", text[256];
    size_t n = 11, n_text = 0, len;
    for (int c = 0; c < 256; c++)
        if (c != '\t' && c != '\n' && c != '"' && c != '\r')
            text[n_text++] = (char)c;
    memcpy(bytes + n, text, n_text);
    memcpy(bytes + n + n_text, "\tx\n", 3);
    n += n_text + 3;
    for (int raw = 0; raw < 2; raw++) {
        rf_data_options o = {TSV, .raw_tsv = raw, .encoding = raw ? NULL : "bytes"};
        rf_dataset *data = read_bytes(bytes, n, 1000, NULL, &o);
        const char *got = rf_dataset_text(data, 0, &len);
        assert_int_equal(len, n_text);
        assert_memory_equal(got, text, n_text);
        rf_dataset_free(data);
    }
    static const char object[] = "{\"text\":\"a\\u0000b\",\"label\":\"x\"}";
    rf_dataset *data = read_bytes(object, sizeof object - 1, 1000, NULL, NULL);
    const char *got = rf_dataset_text(data, 0, &len);
    assert_int_equal(len, 3);
    assert_memory_equal(got, "a\0b", 3);
    rf_dataset_free(data);
}

/* ---- Random rows ------------------------------------------------------------------- */

typedef struct pair {
    char text[64], label[8];
} pair;

static size_t below(rf_rng *r, size_t n)
{
    return (size_t)(rf_rng_next(r) % n);
}

static void random_row(rf_rng *r, pair *out)
{
    static const char *const bits[] = {"a",  " ",  "\"", "\"\"", ",",       "\t",
                                       "\n", "\r", "\\", "{",    "\xC3\xA9"};
    size_t n = below(r, 12);
    out->text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        strcat(out->text, bits[below(r, sizeof bits / sizeof bits[0])]);
    snprintf(out->label, sizeof out->label, "%c%c", "\"x,yz"[below(r, 5)],
             (int)('a' + below(r, 20)));
}

/* A field as RFC 4180 writes it. */
static void put_field(rf_buffer *b, const char *text, char separator, bool always)
{
    char special[] = {separator, '"', '\r', '\n', '\0'};
    bool quoted = always || strpbrk(text, special);
    if (quoted)
        rf_buffer_add(b, "\"", 1, NULL);
    for (; *text; text++) {
        if (*text == '"')
            rf_buffer_add(b, "\"", 1, NULL);
        rf_buffer_add(b, text, 1, NULL);
    }
    if (quoted)
        rf_buffer_add(b, "\"", 1, NULL);
}

static void put_json(rf_buffer *b, const char *text)
{
    rf_buffer_add(b, "\"", 1, NULL);
    for (; *text; text++) {
        char code[8];
        if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\') {
            snprintf(code, sizeof code, "\\u%04x", (unsigned)(unsigned char)*text);
            rf_buffer_add(b, code, 6, NULL);
        } else {
            rf_buffer_add(b, text, 1, NULL);
        }
    }
    rf_buffer_add(b, "\"", 1, NULL);
}

static void put_row(rf_buffer *b, const pair *r, rf_data_format format, rf_rng *rng)
{
    const char *end = below(rng, 2) ? "\r\n" : "\n";
    if (format == RF_DATA_JSONL) {
        rf_buffer_add(b, "{\"label\":", 9, NULL);
        put_json(b, r->label);
        rf_buffer_add(b, ", \"text\" : ", 11, NULL);
        put_json(b, r->text);
        rf_buffer_add(b, "}", 1, NULL);
    } else {
        char separator = format == RF_DATA_TSV ? '\t' : ',';
        put_field(b, r->text, separator, below(rng, 2));
        rf_buffer_add(b, &separator, 1, NULL);
        put_field(b, r->label, separator, below(rng, 2));
    }
    rf_buffer_add(b, end, strlen(end), NULL);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 3, 17, 1000, 1 << 20};
    enum { ROWS = 1000 };
    pair *rows = calloc(ROWS, sizeof *rows);
    rf_rng rng = rf_rng_open(rf_rng_key(7, 0, 0, 0));
    for (rf_data_format format = RF_DATA_TSV; format <= RF_DATA_JSONL; format++) {
        rf_data_options o = {.format = format, .header = RF_HEADER_NO};
        rf_buffer b;
        rf_buffer_init(&b, (size_t)1 << 24, "file");
        for (size_t i = 0; i < ROWS; i++) {
            random_row(&rng, &rows[i]);
            put_row(&b, &rows[i], format, &rng);
        }
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            rf_dataset *data = read_bytes(b.data, b.len, steps[i], NULL, &o);
            assert_int_equal(rf_dataset_rows(data), ROWS);
            for (size_t j = 0; j < ROWS; j++) {
                assert_string_equal(rf_dataset_text(data, j, NULL), rows[j].text);
                assert_string_equal(
                    rf_dataset_label(data, rf_dataset_class(data, j), NULL),
                    rows[j].label);
            }
            rf_dataset_free(data);
        }
        rf_buffer_release(&b);
    }
    free(rows);
}

/* ---- Files ------------------------------------------------------------------------- */

static const char small[] = "text\tlabel\na\tx\nb\ty\n";

static void files_and_standard_input(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    size_t len;
    rf_error err = {0};
    scratch_make(dir);
    scratch_write(dir, "x.tsv", small, sizeof small - 1);
    scratch_path(path, dir, "x.tsv");
    rf_dataset *data = rf_dataset_read(path, NULL, &err);
    assert_non_null(data);
    check_rows(data, "[a|x][b|y]", path);
    rf_dataset_free(data);

    /* The name may lie about packing; content counts. Members may follow each other. */
    char *gz = packed(small, sizeof small - 1, false, &len);
    char *twice = malloc(2 * len);
    memcpy(twice, gz, len);
    memcpy(twice + len, gz, len);
    scratch_write(dir, "x.tsv", twice, 2 * len);
    data = rf_dataset_read(
        path, &(rf_data_options){sizeof(rf_data_options), .header = RF_HEADER_NO}, &err);
    assert_non_null(data);
    check_rows(data, "[text|label][a|x][b|y][text|label][a|x][b|y]", path);
    rf_dataset_free(data);

    int keep = dup(STDIN_FILENO), ends[2];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pipe(ends), 0);
        const char *bytes = i & 1 ? gz : small;
        size_t n = i & 1 ? len : sizeof small - 1;
        assert_int_equal(write(ends[1], bytes, n), n);
        close(ends[1]);
        assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        close(ends[0]);
        data = rf_dataset_read(i & 2 ? "-" : NULL, NULL, &err);
        assert_non_null(data);
        check_rows(data, "[a|x][b|y]", "standard input");
        rf_dataset_free(data);
        assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* not closed */
    }
    if (keep >= 0) {
        dup2(keep, STDIN_FILENO);
        close(keep);
    }
    free(gz);
    free(twice);
    scratch_remove(dir);
}

/* ---- The benchmark sets ------------------------------------------------------------ */

static const struct {
    const char *set;
    size_t rows[3], classes[3];
} benchmarks[] = {
    {"banking", {9003, 1000, 3080}, {77, 77, 77}},
    {"oos", {15000, 3000, 5700}, {150, 150, 151}},
    {"stackoverflow", {12000, 2000, 6000}, {20, 20, 20}},
};
static const char *const splits[] = {"train", "dev", "test"};

/* Each line of the reference is the label, a tab and the token ids of the text. */
static void check_benchmark(const rf_dataset *data, const char *ids_path,
                            const rf_vocab *vocab)
{
    char *file = scratch_read(ids_path, NULL), *p = file;
    for (size_t row = 0; row < rf_dataset_rows(data); row++) {
        char *tab = strchr(p, '\t');
        assert_non_null(tab);
        *tab = '\0';
        const char *label = rf_dataset_label(data, rf_dataset_class(data, row), NULL);
        if (strcmp(label, p) != 0)
            fail_msg("%s: row %zu: label %s, want %s", ids_path, row, label, p);
        p = tab + 1;
        size_t len, n = 0;
        const char *text = rf_dataset_text(data, row, &len);
        int32_t ids[1024];
        if (vocab)
            assert_int_equal(rf_tokenize(vocab, text, len, ids, 1024, &n, NULL), RF_OK);
        for (size_t i = 0; i < n; i++)
            if (strtol(p, &p, 10) != ids[i])
                fail_msg("%s: row %zu: another text: %s", ids_path, row, text);
        if (!vocab)
            p += strcspn(p, "\n");
        assert_int_equal(*p, '\n'); /* not an id more */
        p++;
    }
    assert_int_equal(*p, '\0');
    free(file);
}

static void benchmark_sets(void **state)
{
    (void)state;
    char path[RF_PATH_MAX], dir[RF_PATH_MAX];
    rf_error err = {0};
    if (!rf_file_exists(SHARED_DATA_DIR "/token_ids")) {
        printf("SKIPPED: no benchmark data beside the repository\n");
        skip();
    }
    rf_vocab *vocab = NULL;
    if (rf_encoder_path("minilm", dir, sizeof dir, NULL) == RF_OK)
        vocab = rf_vocab_load(dir, NULL);
    else
        printf("SKIPPED: encoder minilm is not in the cache: labels only, not texts\n");
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            rf_data_summary sum;
            snprintf(path, sizeof path, "%s/%s/%s.tsv", SHARED_DATA_DIR,
                     benchmarks[i].set, splits[j]);
            rf_dataset *data = rf_dataset_read(
                path, &(rf_data_options){sizeof(rf_data_options), RAW}, &err);
            if (!data)
                fail_msg("%s", err.msg);
            assert_int_equal(rf_dataset_rows(data), benchmarks[i].rows[j]);
            assert_int_equal(rf_dataset_classes(data), benchmarks[i].classes[j]);
            assert_int_equal(rf_dataset_summarize(data, &sum, NULL), RF_OK);
            assert_int_equal(sum.dropped, i == 0 && j == 0 ? 13 : 0);
            char ids[RF_PATH_MAX];
            snprintf(ids, sizeof ids, "%s/token_ids/%s_%s.ids", SHARED_DATA_DIR,
                     benchmarks[i].set, splits[j]);
            check_benchmark(data, ids, vocab);
            rf_dataset_free(data);

            /* Read with its quotes, the same rows come out (reference-reading by
             * Python's csv module in strict mode). */
            data = rf_dataset_read(path, NULL, &err);
            if (!data)
                fail_msg("%s", err.msg);
            assert_int_equal(rf_dataset_rows(data), benchmarks[i].rows[j]);
            rf_dataset_free(data);
        }
    rf_vocab_free(vocab);
}

/* ---- Lines ------------------------------------------------------------------------- */

/* The line at which each row begins, whatever is between them. */
static void lines_of_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t n, line[4];
    } files[] = {
        {"a.tsv", "one\tx\ntwo\tx\nthree\ty\n", 3, {1, 2, 3}},
        {"a.tsv", "text\tlabel\n\n\"a\nb\"\tx\r\n\nc\tx\nd\tx\n", 3, {3, 6, 7}},
        {"a.jsonl",
         "\n{\"text\": \"\", \"label\": 1}\n\n{\"text\": \"\", \"label\": 2}",
         2,
         {2, 4}},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        rf_dataset *data =
            read_bytes(files[i].bytes, strlen(files[i].bytes), 1, files[i].name, NULL);
        assert_int_equal(rf_dataset_rows(data), files[i].n);
        for (size_t row = 0; row < files[i].n; row++)
            assert_int_equal(rf_dataset_line(data, row), files[i].line[row]);
        assert_int_equal(rf_dataset_line(data, files[i].n), 0);
        assert_int_equal(rf_dataset_add(data, "more", 4, "x", 1, NULL), RF_OK);
        assert_int_equal(rf_dataset_line(data, files[i].n), 0); /* of no file */
        assert_int_equal(rf_dataset_line(data, 0), files[i].line[0]);
        rf_dataset_free(data);
    }
    rf_dataset *made = rf_dataset_new(NULL);
    assert_int_equal(rf_dataset_add(made, "one", 3, "x", 1, NULL), RF_OK);
    assert_int_equal(rf_dataset_line(made, 0), 0);
    rf_dataset_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(raw_counts_what_it_drops),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(files_and_standard_input),
        cmocka_unit_test(benchmark_sets),
        cmocka_unit_test(lines_of_rows),
    };
    return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}
