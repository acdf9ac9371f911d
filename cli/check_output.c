/* check_output.c - prints findings for people, for programs and for spreadsheets */
#include "check_output.h"

#include "base/file.h"
#include "base/plural.h"
#include "json_text.h"
#include "ringfence_data.h"
#include "screen.h"
#include "tsv_field.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_ROWS 4 /* of a finding, as text: good ones and others, two each */
#define SHOWN_TEXT 90

static const char *label_at(const check_result *r, size_t class_index)
{
    return rf_dataset_label(r->data, class_index, NULL);
}

static const char *label_of(const check_result *r, size_t row)
{
    return label_at(r, rf_dataset_class(r->data, row));
}

/* The next finding of this kind from number *i on, which moves past it; NULL at the end
 * of the kind, or of what the limit allows. */
static const rf_finding *next_of(const check_result *r, rf_finding_kind kind, size_t *i,
                                 size_t *taken)
{
    const rf_finding *f = rf_findings_at(r->found, *i);
    if (!f || f->kind != kind || *taken >= r->limit)
        return NULL;
    ++*i, ++*taken;
    return f;
}

static size_t count_kind(const check_result *r, rf_finding_kind kind, size_t from)
{
    size_t n = 0;
    for (const rf_finding *f;
         (f = rf_findings_at(r->found, from + n)) && f->kind == kind;)
        n++;
    return n;
}

/* ---- Text -------------------------------------------------------------------------- */

static void put_row(const check_result *r, size_t row)
{
    char text[SHOWN_TEXT], label[60];
    size_t len;
    const char *t = rf_dataset_text(r->data, row, &len), *l = label_of(r, row);
    if (r->several)
        printf("    %s: line", rf_dataset_file(r->data, row));
    else
        printf("    line");
    printf(" %zu [%s] %s\n", rf_dataset_line(r->data, row),
           screen_one_line(label, sizeof label, l, strlen(l)),
           screen_one_line(text, sizeof text, t, len));
}

/* The first good rows and the first of the others: the rest of the four goes to either.
 */
static void put_rows(const check_result *r, const rf_finding *f)
{
    size_t others = f->n_rows - f->n_good;
    size_t good = f->n_good < SHOWN_ROWS / 2 ? f->n_good : SHOWN_ROWS / 2;
    size_t bad = others < SHOWN_ROWS - good ? others : SHOWN_ROWS - good;
    for (size_t i = 0; i < good; i++)
        put_row(r, f->rows[i]);
    for (size_t i = 0; i < bad; i++)
        put_row(r, f->rows[f->n_good + i]);
    if (f->n_rows > good + bad)
        printf("    and %zu more\n", f->n_rows - good - bad);
}

static void put_kind(const check_result *r, rf_finding_kind kind, size_t from)
{
    const char *title, *name = rf_finding_name(kind, &title), *fix = NULL;
    char line[600];
    size_t all = count_kind(r, kind, from), i = from, taken = 0;
    printf("\n%s: %s (%zu)\n", name, title, all);
    for (const rf_finding *f; (f = next_of(r, kind, &i, &taken));) {
        if (fix && strcmp(fix, f->fix) != 0)
            printf("  fix: %s\n", fix);
        fix = f->fix;
        printf("  %s\n",
               screen_one_line(line, sizeof line, f->message, strlen(f->message)));
        put_rows(r, f);
    }
    if (all > taken)
        printf("  and %zu more (--limit 0 shows all)\n", all - taken);
    if (fix)
        printf("  fix: %s\n", fix);
}

void check_put_text(const check_result *r)
{
    size_t n = rf_dataset_rows(r->data), k = rf_dataset_classes(r->data);
    printf("%s: %zu %s, %zu %s\n", r->path, n, rf_plural(n, "row", "rows"), k,
           rf_plural(k, "class", "classes"));
    for (size_t i = 0; i < rf_findings_count(r->found);) {
        rf_finding_kind kind = rf_findings_at(r->found, i)->kind;
        put_kind(r, kind, i);
        i += count_kind(r, kind, i);
    }
    if (rf_findings_count(r->found) == 0)
        puts("nothing to mend");
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_class(const check_result *r, const char *key, size_t class_index)
{
    printf(", \"%s\": ", key);
    if (class_index == SIZE_MAX)
        fputs("null", stdout);
    else
        json_put_name(stdout, label_at(r, class_index));
}

static void put_json_rows(const check_result *r, const rf_finding *f)
{
    fputs(", \"rows\": [", stdout);
    for (size_t i = 0; i < f->n_rows; i++) {
        size_t len;
        const char *text = rf_dataset_text(r->data, f->rows[i], &len);
        fputs(i ? ", {" : "{", stdout);
        if (r->several) {
            fputs("\"file\": ", stdout);
            json_put_name(stdout, rf_dataset_file(r->data, f->rows[i]));
            fputs(", ", stdout);
        }
        printf("\"line\": %zu, \"mend\": %s, \"text\": ",
               rf_dataset_line(r->data, f->rows[i]), i < f->n_good ? "false" : "true");
        json_put_string(stdout, text, len);
        fputs(", \"label\": ", stdout);
        json_put_name(stdout, label_of(r, f->rows[i]));
        putchar('}');
    }
    putchar(']');
}

static void put_finding(const check_result *r, const rf_finding *f)
{
    printf("{\"kind\": \"%s\", \"message\": ", rf_finding_name(f->kind, NULL));
    json_put_name(stdout, f->message);
    fputs(", \"fix\": ", stdout);
    json_put_name(stdout, f->fix);
    put_class(r, "class", f->class_index);
    put_class(r, "other_class", f->other_class);
    put_class(r, "suggestion", f->suggested);
    fputs(", \"score\": ", stdout);
    json_put_double(stdout, f->score);
    put_json_rows(r, f);
    putchar('}');
}

void check_put_json(const check_result *r)
{
    fputs("{\"file\": ", stdout);
    json_put_name(stdout, r->path);
    printf(", \"rows\": %zu, \"classes\": %zu, \"encoded_rows\": %zu, \"counts\": {",
           rf_dataset_rows(r->data), rf_dataset_classes(r->data),
           rf_findings_encoded(r->found));
    for (size_t kind = 0, from = 0; kind < RF_FINDING_KINDS; kind++) {
        size_t n = count_kind(r, (rf_finding_kind)kind, from);
        printf("%s\"%s\": %zu", kind ? ", " : "", rf_finding_name(kind, NULL), n);
        from += n;
    }
    fputs("}, \"findings\": [", stdout);
    const char *comma = "";
    for (size_t kind = 0, from = 0; kind < RF_FINDING_KINDS; kind++) {
        size_t i = from, taken = 0;
        from += count_kind(r, (rf_finding_kind)kind, from);
        for (const rf_finding *f; (f = next_of(r, (rf_finding_kind)kind, &i, &taken));) {
            fputs(comma, stdout);
            put_finding(r, f);
            comma = ",\n";
        }
    }
    puts("]}");
}

/* ---- A table ----------------------------------------------------------------------- */

static rf_status add_row(const check_result *r, const rf_finding *f, size_t row,
                         rf_buffer *line, rf_error *err)
{
    char number[RF_PATH_MAX + 32];
    size_t len;
    const char *text = rf_dataset_text(r->data, row, &len), *label = label_of(r, row);
    const char *kind = rf_finding_name(f->kind, NULL);
    const char *suggestion =
        f->suggested == SIZE_MAX ? f->fix : label_at(r, f->suggested);
    snprintf(number, sizeof number, "%s%s%zu",
             r->several ? rf_dataset_file(r->data, row) : "", r->several ? ":" : "",
             rf_dataset_line(r->data, row));
    rf_buffer_clear(line);
    rf_status st = tsv_add_field(line, number, strlen(number), '\t', err);
    if (st == RF_OK)
        st = tsv_add_field(line, kind, strlen(kind), '\t', err);
    if (st == RF_OK)
        st = tsv_add_field(line, text, len, '\t', err);
    if (st == RF_OK)
        st = tsv_add_field(line, label, strlen(label), '\t', err);
    return st == RF_OK ? tsv_add_field(line, suggestion, strlen(suggestion), '\n', err)
                       : st;
}

static rf_status add_rows(const check_result *r, rf_new_file *file, rf_buffer *line,
                          rf_error *err)
{
    static const char head[] = "line\tkind\ttext\tlabel\tsuggestion\n";
    rf_status st = rf_new_file_add(file, head, sizeof head - 1, err);
    for (size_t kind = 0, from = 0; kind < RF_FINDING_KINDS; kind++) {
        size_t i = from, taken = 0;
        from += count_kind(r, (rf_finding_kind)kind, from);
        for (const rf_finding *f; (f = next_of(r, (rf_finding_kind)kind, &i, &taken));)
            for (size_t n = f->n_good; n < f->n_rows && st == RF_OK; n++) {
                st = add_row(r, f, f->rows[n], line, err);
                if (st == RF_OK)
                    st = rf_new_file_add(file, line->data, line->len, err);
            }
    }
    return st;
}

rf_status check_write_tsv(const check_result *r, const char *path, rf_error *err)
{
    rf_new_file file = {0};
    rf_buffer line;
    rf_buffer_init(&line, SIZE_MAX / 4, path);
    rf_status st = rf_new_file_open(&file, path, err);
    if (st == RF_OK)
        st = add_rows(r, &file, &line, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&file, err);
    rf_new_file_abandon(&file);
    rf_buffer_release(&line);
    return st;
}
