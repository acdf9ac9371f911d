/*
 * published.h - results from the literature, with their source
 *
 * They are in published.tsv, which is built into the program. Its comments say where they
 * come from and which of them contradict each other.
 */
#ifndef RF_LAB_PUBLISHED_H
#define RF_LAB_PUBLISHED_H

#include "base/error.h"

typedef struct rf_published {
    char source[24]; /* "ans-table1" */
    char set[32];
    double ratio;
    char method[32];  /* our name for it */
    char variant[32]; /* "": the method's defaults; "ablation=noise" */
    char metric[16];  /* "accuracy", "f1", "f1_known", "f1_open"; "sd_" + one of them */
    double value;     /* per cent */
} rf_published;

/* All of them, freed with free(). */
rf_status rf_published_load(rf_published **list, size_t *n, rf_error *err);

/* The same from the text of a file in this format. */
rf_status rf_published_parse(const char *text, size_t len, rf_published **list, size_t *n,
                             rf_error *err);

/* NULL if the source does not have it. */
const rf_published *rf_published_find(const rf_published *list, size_t n,
                                      const char *source, const char *set, double ratio,
                                      const char *method, const char *variant,
                                      const char *metric);

/* The file's bytes, embedded by CMake. */
extern const unsigned char rf_published_bytes[];
extern const size_t rf_published_bytes_size;

#endif
