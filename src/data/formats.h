/*
 * formats.h - the formats of labelled data: one table, a row each
 *
 * A new format is a file format_x.c with a function that reads it, a row in the table of
 * formats.c, and a sample in tests/formats.
 */
#ifndef RF_DATA_FORMATS_H
#define RF_DATA_FORMATS_H

#include "data/rows.h"
#include "data/source.h"

typedef struct rf_format rf_format;

/* Reads a source from where it stands to its end. */
typedef rf_status (*rf_format_reader)(const rf_format *f, rf_source *s, rf_rows *rows,
                                      rf_error *err);

/* What is known about a file before it is read. */
typedef struct rf_glimpse {
    const char *bytes; /* the first ones */
    size_t len;
    bool all; /* there are no more */
    const rf_data_options *options;
} rf_glimpse;

struct rf_format {
    rf_data_format format;
    const char *name;    /* for --format: "rasa-yaml" */
    const char *title;   /* for people: "Rasa's nlu.yml" */
    const char *endings; /* of names that always mean it: ".tsv .tab"; may be NULL */
    bool (*recognise)(const rf_glimpse *g); /* by content; may be NULL */
    rf_format_reader read;                  /* NULL: a directory or an archive */
};

/* The row of a format, NULL past the last. */
const rf_format *rf_format_of(rf_data_format format);

/* By the options, the name or the content; the source is at its first byte. */
rf_status rf_format_find(rf_source *s, const char *file_name, const rf_data_options *o,
                         const rf_format **found, rf_error *err);

/* The readers, each in a file of its own: format_x.c. */
rf_status rf_read_delimited(const rf_format *f, rf_source *s, rf_rows *rows,
                            rf_error *err);
rf_status rf_read_jsonl(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err);
rf_status rf_read_json(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err);
rf_status rf_read_fasttext(const rf_format *f, rf_source *s, rf_rows *rows,
                           rf_error *err);
rf_status rf_read_rasa_yaml(const rf_format *f, rf_source *s, rf_rows *rows,
                            rf_error *err);
rf_status rf_read_rasa_md(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err);
rf_status rf_read_luis(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err);
rf_status rf_read_snips(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err);
rf_status rf_read_lines(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err);

#endif
