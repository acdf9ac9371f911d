/* assets.h - files that are part of the program: CMake makes arrays of them */
#ifndef RF_SERVE_ASSETS_H
#define RF_SERVE_ASSETS_H

#include <stddef.h>

extern const unsigned char asset_page[]; /* page.html */
extern const size_t asset_page_size;
extern const unsigned char asset_openapi[]; /* openapi.json */
extern const size_t asset_openapi_size;

/* The Content-Security-Policy of the page: its own script and style, by their hashes, and
 * requests to its own server; nothing else. */
void assets_policy(char *out, size_t cap);

#endif
