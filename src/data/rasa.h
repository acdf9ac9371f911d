/* rasa.h - what Rasa's two formats share: examples with marked entities */
#ifndef RF_DATA_RASA_H
#define RF_DATA_RASA_H

#include "data/rows.h"

/* Removes the marks from a text, in place: [Paris](city), [Paris](city:paris),
 * [Paris]{"entity": "city"} and [Paris][{"entity": "city"}] all become Paris. */
rf_field rf_rasa_plain(char *text, size_t len);

/* A row from a line "- text"; a blank line is none. */
rf_status rf_rasa_example(rf_rows *rows, rf_field label, char *line, size_t len,
                          size_t number, rf_error *err);

#endif
