/* assets.h - files built into the program: CMake turns them into arrays */
#ifndef RF_SERVE_ASSETS_H
#define RF_SERVE_ASSETS_H

#include <stddef.h>

extern const unsigned char asset_page[]; /* page.html */
extern const size_t asset_page_size;
extern const unsigned char asset_openapi[]; /* openapi.json */
extern const size_t asset_openapi_size;

/* The Content-Security-Policy of the page. It allows the page's own script and style, by
 * hash, and requests to its own server, and nothing else. */
void assets_policy(char *out, size_t cap);

#endif
