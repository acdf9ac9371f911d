/*
 * json_rows.h - rows that are objects, {"text": ..., "label": ...}
 *
 * The first object decides which keys hold text and label (columns.h).
 */
#ifndef RF_DATA_JSON_ROWS_H
#define RF_DATA_JSON_ROWS_H

#include "data/columns.h"
#include "data/json_cursor.h"
#include "data/rows.h"

typedef struct rf_json_rows {
    rf_rows *rows;
    bool known; /* the keys are */
    char text_key[RF_MAX_KEY + 1], label_key[RF_MAX_KEY + 1];
    rf_field names[RF_MAX_COLUMNS], fields[RF_MAX_COLUMNS];
} rf_json_rows;

/* A cursor at the start of a whole file, which is read into memory. */
rf_status rf_document_start(rf_json_cursor *c, rf_source *s, rf_error *err);

/* An object at the cursor is a row. */
rf_status rf_json_row(rf_json_rows *j, rf_json_cursor *c, rf_error *err);

/* So is [text, label]. */
rf_status rf_json_pair(rf_rows *rows, rf_json_cursor *c, rf_error *err);

/* A label may be an integer; a text must be text. */
rf_status rf_json_check(rf_rows *rows, size_t line, const char *key, rf_field value,
                        bool is_label, bool *good, rf_error *err);

#endif
