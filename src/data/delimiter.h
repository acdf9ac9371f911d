/* delimiter.h - which character separates the fields of a table */
#ifndef RF_DATA_DELIMITER_H
#define RF_DATA_DELIMITER_H

#include <stdbool.h>
#include <stddef.h>

/* From the first bytes of a table, all of which are there if `all`: the one of , ; | and
 * tab that cuts the records into the same number of fields, two at least. A comma if none
 * does. */
char rf_delimiter_find(const char *bytes, size_t len, bool all);

#endif
