/* reader.h - one file, in whatever format it has, to rows */
#ifndef RF_DATA_READER_H
#define RF_DATA_READER_H

#include "data/rows.h"
#include "data/source.h"

/* Reads a source to its end. file_name implies the format, or is NULL. */
rf_status rf_read_source(rf_source *s, const char *file_name, rf_rows *rows,
                         rf_error *err);

/* Reads a file, directory, archive or, for NULL and "-", standard input. */
rf_status rf_read_path(const char *path, rf_rows *rows, rf_error *err);

#endif
