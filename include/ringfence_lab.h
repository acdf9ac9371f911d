/*
 * ringfence_lab.h - methods compared under the published protocol, and what came of it
 *
 * For those who measure methods; who trains a model and asks it needs ringfence.h alone,
 * whose conventions hold here, too.
 */
#ifndef RINGFENCE_LAB_H
#define RINGFENCE_LAB_H

#include "ringfence.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Methods compared under the published protocol (docs/LAB.md). A run is one data set,
 * share of known classes, seed and method; its figures become one line of
 * OUT/runs.jsonl. What runs share is computed once and kept in OUT/cache. */
typedef struct rf_lab_options {
    const char *data;   /* directory of the sets: DATA/SET/train.tsv, dev.tsv, test.tsv */
    const char *sets;   /* "banking,oos" */
    const char *ratios; /* share of known classes: "0.25,0.5,0.75" */
    const char *seeds;  /* "0-9" or "0,3,5" */
    const char *methods; /* "ans,adb", or "all" (those that can run), "shared" (those that
                          * share stage 1) */
    const char *variants; /* NULL: the methods as they are; else settings to try, one run
                           * each: "radius=1,4,16 gamma=2,3" (docs/LAB.md) */
    const char *encoder;  /* NULL: minilm */
    const char *out;      /* directory, made if needed */
    const char *open_texts; /* texts of no class for selfsup: rf_dataset_read_texts */
    const rf_data_options *format; /* NULL: as published: raw TSV */
    size_t max_tokens;      /* 0: as published for the three sets, else the encoder's */
    size_t threads;         /* 0: one per CPU; the figures are the same for any number */
    rf_train_options train; /* how stage 1 and ANS learn; what stands above, dev_share,
                             * tune, budgets, the map, checkpoints and progress do not
                             * count in it */
} rf_lab_options;

RF_API rf_lab_options rf_lab_options_default(void);

typedef struct rf_lab_event {
    const char *run;     /* "banking 0.25 seed 0 ans minilm" */
    size_t done, total;  /* runs, those of earlier calls included */
    double seconds_left; /* of all runs, estimated */
    bool finished;       /* this run ended now: the figures are new */
    bool before;         /* it was finished by an earlier call */
    double seconds;      /* that its training took, or may take */
    double accuracy, f1;
    const char *error;              /* this run failed now, the others go on; else NULL */
    const rf_train_event *training; /* where it stands, NULL between stages */
} rf_lab_event;

/* Called now and then, also for runs that are done already; anything but 0 stops with
 * RF_ERR_STOPPED, and the next call goes on. */
typedef int (*rf_lab_progress)(void *user, const rf_lab_event *event);

/* Does the runs that are not done yet. One that fails for reasons of its own (it
 * diverges) is told and left out; the first such failure is what the call returns in the
 * end. A line of runs.jsonl that was made with other settings or texts is RF_ERR_ARG. */
RF_API rf_status rf_lab_run(const rf_lab_options *options, rf_lab_progress progress,
                            void *user, rf_error *err);
/* Only tells them, with the time they may take. */
RF_API rf_status rf_lab_plan(const rf_lab_options *options, rf_lab_progress progress,
                             void *user, rf_error *err);

typedef enum rf_table_format {
    RF_TABLE_TEXT = 0, /* aligned, for a terminal */
    RF_TABLE_MARKDOWN = 1,
    RF_TABLE_CSV = 2, /* one line per figure, for machines */
    RF_TABLE_LATEX = 3,
} rf_table_format;

typedef struct rf_table_options {
    rf_table_format format;
    const char *which;   /* NULL: all of "main", "known-open", "deviations", "ablation",
                          * "negatives", "paired", "sweeps" */
    const char *encoder; /* NULL: all, one after another */
} rf_table_options;

/* The runs of dir as tables: means over seeds, published numbers beside them, spread,
 * paired comparisons. options may be NULL. *text is freed with free(); on failure it is
 * NULL. RF_ERR_MISSING if there are no runs, or none with this encoder. */
RF_API rf_status rf_lab_table(const char *dir, const rf_table_options *options,
                              char **text, rf_error *err);

typedef struct rf_lab_report_options {
    const char *title; /* any text; NULL: "Open world classification" */
    const char *data;  /* directory of the sets, for the portraits; NULL: without them */
    const char *encoder; /* only its runs; NULL: all, the one with most runs first */
    /* The experiment of the portraits; NULL: oos, else the first set; 0: a ratio of 0.25
     * and a seed of 0, else the least that was run. */
    const char *set;
    double ratio;
    uint64_t seed;
    size_t threads; /* 0: one per CPU; the bytes are the same for any number */
    /* Told now and then what is being done; anything but 0 stops with RF_ERR_STOPPED. May
     * be NULL. */
    int (*progress)(void *user, const char *line);
    void *user;
} rf_lab_report_options;

/* The runs of dir as an HTML page: what was run, methods against each other and against
 * published numbers, ablation, sweeps, confusions, times and, with data, portraits of
 * three heads: maps of what they see. Those take stage 1 from dir/cache or train it. The
 * page needs no other file and no network; with portraits it contains texts of the test
 * set. options may be NULL. Written whole or not at all; the same runs give the same
 * bytes. RF_ERR_MISSING if there are no runs, or none with this encoder. */
RF_API rf_status rf_lab_report(const char *dir, const rf_lab_report_options *options,
                               const char *path, rf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* RINGFENCE_LAB_H */
