/*
 * sealed.h - a sealed file taken apart and put together again by other means than the
 * library's: checksums and seal follow from whatever it has become
 */
#ifndef RF_TEST_SEALED_H
#define RF_TEST_SEALED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct sealed {
    json_t *header;
    json_t *about; /* ringfence.json */
    unsigned char *data;
    size_t n_data;
    bool keep_checksums; /* as they are in the header, right or wrong */
} sealed;

/* False if the frame cannot be read; then there is nothing to release. */
bool sealed_take_apart(sealed *s, const unsigned char *bytes, size_t len);
void sealed_release(sealed *s);

/* The whole file, to be freed; NULL without memory. */
unsigned char *sealed_put_together(const sealed *s, size_t *len);

/* A string of the metadata replaced; NULL removes it. */
void sealed_set(sealed *s, const char *key, const char *value);

/* Bytes of a tensor; NULL if there is none. */
unsigned char *sealed_tensor(const sealed *s, const char *name, size_t *len);

#endif
