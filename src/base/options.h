/*
 * options.h - option structs of the public header that may grow
 *
 * Each starts with `size_t struct_size`, which the header's inline _default() function
 * sets to the size that the caller was compiled with. A newer library reads as much of it
 * as there is and takes its defaults for the rest.
 */
#ifndef RF_BASE_OPTIONS_H
#define RF_BASE_OPTIONS_H

#include "base/error.h"

/* Copies the caller's options over the defaults in *to, a struct of to_size bytes. from
 * may be NULL. RF_ERR_ARG if struct_size was never set, RF_ERR_VERSION if the caller uses
 * a field that this library does not have. name is the type, for messages. */
rf_status rf_options_take(void *to, size_t to_size, const void *from, const char *name,
                          rf_error *err);

/* The defaults into a caller's struct of `size` bytes, for the public _init functions:
 * fields that only the caller knows become 0. */
void rf_options_give(void *to, size_t size, const void *defaults, size_t defaults_size);

#endif
