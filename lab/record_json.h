/*
 * record_json.h - a struct of results to a line of JSON and back, by a table of its
 * fields
 */
#ifndef RF_LAB_RECORD_JSON_H
#define RF_LAB_RECORD_JSON_H

#include "base/json.h"

#include <stddef.h>

/* SHARE: a REAL that a line may lack; then it is negative. */
typedef enum rf_field_kind {
    RF_FIELD_TEXT,  /* char[cap] */
    RF_FIELD_SIZE,  /* size_t */
    RF_FIELD_SEED,  /* uint64_t */
    RF_FIELD_REAL,  /* double */
    RF_FIELD_SHARE, /* double */
    RF_FIELD_FLAG,  /* bool */
} rf_field_kind;

typedef struct rf_field {
    const char *name;
    rf_field_kind kind;
    size_t at;         /* offset in the struct */
    size_t cap;        /* TEXT: bytes, NUL included */
    double max;        /* REAL, SHARE: 0 to this */
    const char *group; /* name of the object that holds it, NULL: the line itself */
} rf_field;

typedef struct rf_record_form {
    const char *what; /* "a run", for messages */
    const rf_field *fields;
    size_t n;
} rf_record_form;

/* Refuses what JSON cannot represent. */
rf_status rf_record_check(const rf_record_form *form, const void *record, rf_error *err);

/* The fields as an object; NULL if memory ran out. */
json_t *rf_record_json(const rf_record_form *form, const void *record);

/* Where a value comes from, for messages. */
typedef struct rf_line_place {
    const char *file;
    size_t line;
    rf_error *err; /* not NULL */
} rf_line_place;

/* Fills the fields of *record from an object. */
rf_status rf_record_read(const rf_record_form *form, void *record, const json_t *line,
                         const rf_line_place *at);

#endif
