/*
 * results.h - DIR/runs.jsonl, the file of finished runs: one JSON line per run
 *
 * A line is appended with one write and flushed, so a crash can truncate only the last
 * line. Such a fragment is skipped when reading and cut off before the next append; any
 * other malformed line is an error. Lines are never rewritten: a repeated run is a later
 * line with the same key, and the later one counts.
 */
#ifndef RF_LAB_RESULTS_H
#define RF_LAB_RESULTS_H

#include "base/json.h"

#define RF_RUNS_FILE "runs.jsonl"

typedef struct rf_run {
    /* The key of the run. */
    char set[64];
    double ratio; /* share of known classes */
    uint64_t seed;
    char method[32];
    char encoder[128];
    char variant[96]; /* "": default settings; else "name=value": "radius=8" */

    size_t known_classes, train_rows, dev_rows, test_rows;
    char classes_sha256[65];                /* rf_split.classes_sha256; may be "" */
    double accuracy, f1, f1_known, f1_open; /* 0..100, on the test rows */
    /* Without a fence (lab/ranking.h), 0..100; negative: not recorded, as in lines of
     * earlier versions. */
    double closed, auroc, best_f1, best_accuracy;
    struct {
        double encode, known, open, test;
    } seconds;
    bool shared_known; /* stage 1 came from the cache */
    size_t threads;
    char version[32], kernels[16];
    json_t *settings;   /* owned, may be NULL: an object with all training settings */
    json_t *confusions; /* owned, may be NULL: [[truth, answer, count], ...], the most
                         * frequent ones */
} rf_run;

/* Releases settings and confusions; accepts a zeroed run. */
void rf_run_release(rf_run *run);

/* Appends the run to DIR/runs.jsonl, creating both if needed. Several processes may
 * append to the same file. A failure leaves the existing lines unchanged. */
rf_status rf_run_append(const char *dir, const rf_run *run, rf_error *err);

/* All runs of DIR in file order; of those with the same key, the last. Without a file
 * there are none. Freed with rf_runs_free. */
rf_status rf_runs_load(const char *dir, rf_run **list, size_t *n, rf_error *err);
void rf_runs_free(rf_run *list, size_t n);

#define RF_RUN_KEY 512
/* The key as text: "banking 0.25 seed 0 ans minilm radius=8". Returns out. */
char *rf_run_key(const rf_run *run, char out[RF_RUN_KEY]);

/* Orders runs by key; 0 if the keys are equal. */
int rf_run_compare(const rf_run *a, const rf_run *b);

/* The run with the key of `like`, NULL if there is none. */
const rf_run *rf_runs_find(const rf_run *list, size_t n, const rf_run *like);

#define RF_RATIO_TEXT 32
/* The shortest text that reads back as the same ratio: "0.25". Returns out. */
char *rf_ratio_text(double ratio, char out[RF_RATIO_TEXT]);

#endif
