/*
 * results.h - the file of runs: one training and test each, one JSON line each
 *
 *   DIR/runs.jsonl
 *
 * A line is added by one write and flushed, so a crash can damage the last line at most:
 * such a beginning of a line is passed over when reading and cut off before the next line
 * is written. Any other bad line is an error. Nothing is ever rewritten: a run made again
 * is a later line with the same key, and the later one counts.
 */
#ifndef RF_LAB_RESULTS_H
#define RF_LAB_RESULTS_H

#include "base/json.h"

#define RF_RUNS_FILE "runs.jsonl"

typedef struct rf_run {
    /* The key: which run this is. */
    char set[64];
    double ratio; /* share of known classes */
    uint64_t seed;
    char method[32];
    char encoder[128];
    char variant[96]; /* "": the method's defaults; else "name=value": "radius=8" */

    size_t known_classes, train_rows, dev_rows, test_rows;
    char classes_sha256[65];                /* rf_split.classes_sha256; may be "" */
    double accuracy, f1, f1_known, f1_open; /* 0..100, on the test rows */
    struct {
        double encode, known, open, test;
    } seconds;
    bool shared_known; /* stage 1 was made for another run and used again */
    size_t threads;
    char version[32], kernels[16];
    json_t *settings;   /* owned; may be NULL: an object, whatever else was set */
    json_t *confusions; /* owned; may be NULL: [[truth, answer, count], ...], the largest
                         * off the diagonal */
} rf_run;

/* Lets go of settings and confusions; accepts a zeroed run. */
void rf_run_release(rf_run *run);

/* Adds the run to DIR/runs.jsonl; directory and file are made if they are not there.
 * Several processes may add to the same file. A failure leaves the lines that were there
 * as they were. */
rf_status rf_run_append(const char *dir, const rf_run *run, rf_error *err);

/* All runs of DIR in the order of the file, of the same key only the last; no file: no
 * runs. Freed with rf_runs_free. */
rf_status rf_runs_load(const char *dir, rf_run **list, size_t *n, rf_error *err);
void rf_runs_free(rf_run *list, size_t n);

#define RF_RUN_KEY 512
/* The key as text: "banking 0.25 seed 0 ans minilm radius=8". Returns out. */
char *rf_run_key(const rf_run *run, char out[RF_RUN_KEY]);

/* Order of keys, 0 for the same one. */
int rf_run_compare(const rf_run *a, const rf_run *b);

/* The run with the key of `like`, NULL if there is none. */
const rf_run *rf_runs_find(const rf_run *list, size_t n, const rf_run *like);

#define RF_RATIO_TEXT 32
/* A ratio in as few digits as tell it apart from every other: "0.25". Returns out. */
char *rf_ratio_text(double ratio, char out[RF_RATIO_TEXT]);

#endif
