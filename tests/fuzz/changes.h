/*
 * changes.h - a list of changes to a sealed file, as bytes, for fuzz targets
 *
 * Changes are separated by bytes of 255:
 *   j{...}     merged into the description
 *   h{...}     merged into the header: types, shapes and places of tensors
 *   pXXXV...   pokes: byte V at place XXX (three bytes, little-endian) of the data
 */
#ifndef RF_FUZZ_CHANGES_H
#define RF_FUZZ_CHANGES_H

#include "sealed.h"

#include <stdint.h>

/* The good file with these changes, under a proper seal; to be freed. NULL if nothing can
 * be sealed: no metadata are left. */
unsigned char *changes_apply(const sealed *good, const uint8_t *bytes, size_t len,
                             size_t *file_len);

#endif
