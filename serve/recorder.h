/*
 * recorder.h - keeps texts with answers in a store, without making anybody wait
 *
 * Workers hand over answers. A bounded queue takes those that are to be kept, and one
 * thread writes them in batches, about every second. If the queue is full, rows are
 * dropped and counted. If the disk is full, the batch waits and is tried again. Every
 * answer is counted by hour and class, kept or not; those counts are never dropped for
 * lack of room in the queue. The same thread deletes old rows and computes the drift
 * report, so that no request waits for the disk.
 */
#ifndef RF_SERVE_RECORDER_H
#define RF_SERVE_RECORDER_H

#include "base/json_text.h"
#include "model_slot.h"
#include "store/drift.h"

typedef struct recorder_options {
    const char *path;
    const char *source; /* the name of this service in the rows */
    double sample;      /* share of answers that are not open, by hash of the text */
    size_t days;        /* rows are kept this long */
    size_t mb;          /* limit of the file; the oldest rows go first */
    bool hash;          /* keep the sha256 of a text instead of the text */
} recorder_options;

typedef struct recorder recorder;

/* Opens the store, or makes it. The strings must outlive the recorder. */
recorder *recorder_new(const recorder_options *o, const loaded_model *model,
                       rf_error *err);

/* Writes what is waiting, closes the store. Accepts NULL. */
void recorder_free(recorder *r);

typedef struct recorder_answer {
    const loaded_model *model;
    const rf_decision *decision;
    const char *text;
    size_t len;
    bool keep;        /* the client allows it */
    bool other_fence; /* not comparable with other answers: not counted */
} recorder_answer;

/* Copies what it needs; never waits for the disk, never fails. */
void recorder_add(recorder *r, const recorder_answer *a);

typedef struct recorder_figures {
    unsigned long long stored,
        removed; /* rows; removed for their age or the file's size */
    unsigned long long dropped_full, dropped_disk, dropped_memory; /* rows, by reason */
    unsigned long long
        uncounted;             /* answers missing from the counts, for lack of memory */
    unsigned long long errors; /* failed attempts */
    size_t waiting;            /* rows */
    int64_t bytes;             /* of the file */
    bool failing;
    char last_error[sizeof((rf_error *)0)->msg];
    drift_report drift; /* its figures; not what it points to */
} recorder_figures;

void recorder_look(recorder *r, recorder_figures *out);

/* The same as metrics (recorder_metrics.c). */
void recorder_write_metrics(recorder *r, rf_text *out);

/* The drift report as JSON; at most a minute old. */
void recorder_write_drift(recorder *r, rf_text *out);

#endif
