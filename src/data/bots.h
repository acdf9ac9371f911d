/*
 * bots.h - what the JSON files of chatbot services share
 */
#ifndef RF_DATA_BOTS_H
#define RF_DATA_BOTS_H

#include "data/formats.h"
#include "data/json_rows.h"

/* A text that comes in pieces: [{"text": "a "}, {"text": "b", "entity": ...}]. */
rf_status rf_json_pieces(rf_json_cursor *c, rf_field *text, rf_error *err);

/* An array of objects, each a row of this label; the key `pieces` has the text. */
rf_status rf_json_phrases(rf_rows *rows, rf_json_cursor *c, rf_field label,
                          const char *pieces, rf_error *err);

#endif
