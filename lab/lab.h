/*
 * lab.h - compare methods under the published protocol, and present the results
 *
 * The lab is linked into the program only; libringfence does not contain it. The
 * conventions of ringfence.h apply here too. The files of this directory:
 *
 *   protocol   split, numpy_draw: known classes of a seed; lab_set: texts and frozen
 *              layers; stage1; experiment: all of it, up to a fitted method
 *   runs       plan, shard, lab_settings, estimate; lab: carries the plan out; ranking:
 * figures without a fence; results and run_json: runs.jsonl; merge: of several machines
 *   models     lab_model: as the program trains them
 *   updates    growing: a model that learns class by class; measure_updates: beside
 *              trainings; update_points: updates.jsonl
 *   loop       traffic, oracle; loop: review, labels, update; loop_points: loop.jsonl
 *   files      line_file, record_json, record_file: lines of results
 *   discovery  discover: clusters of test texts; ward, kmeans; agreement with classes
 *   tables     statistics, published, grid; table_runs: finds runs; table, table_*
 *   page       lab_page, page_*, lab_curves, svg_facets; head_view: data of its maps
 */
#ifndef RF_LAB_LAB_H
#define RF_LAB_LAB_H

#include "ringfence.h"

/* What to run, under the published protocol (docs/LAB.md). A run is one data set, share
 * of known classes, seed and method; its figures become one line of OUT/runs.jsonl. What
 * runs share is computed once and cached in OUT/cache. */
typedef struct rf_lab_options {
    const char *data;   /* directory of the sets: DATA/SET/train.tsv, dev.tsv, test.tsv */
    const char *sets;   /* "banking,oos" */
    const char *ratios; /* shares of known classes: "0.25,0.5,0.75" */
    const char *seeds;  /* "0-9" or "0,3,5" */
    const char *methods;    /* "ans,adb"; "all": every one that can run; "shared": those
                             * that share stage 1 */
    const char *variants;   /* NULL: default settings; else settings to vary, one run per
                             * value: "radius=1,4,16 gamma=2,3" (docs/LAB.md) */
    const char *shard;      /* NULL: all runs; "2/8": the second of eight parts, which
                             * other machines may do; runs that share stage 1 are
                             * together (rf_lab_run, rf_lab_plan) */
    const char *encoder;    /* NULL: minilm */
    const char *out;        /* directory, created if needed */
    const char *open_texts; /* file of open texts for selfsup: rf_dataset_read_texts */
    const rf_data_options *format; /* NULL: raw TSV, as published */
    size_t max_tokens;    /* 0: as published for the three sets, else the encoder's */
    size_t threads;       /* 0: one per CPU; the figures are the same for any number */
    const char *settings; /* of every run, as in rf_train_options; NULL: defaults */
    /* For rf_lab_update: the shares of the classes that are known at first and at last,
     * and after how many updates the model is measured. */
    double from, to;
    size_t every;
    /* For rf_lab_loop (loop.h): texts that come with each round, and texts that may be
     * read; 0: all. */
    size_t batch, labels;
} rf_lab_options;

rf_lab_options rf_lab_options_default(void);

/* What a variant or a sweep can change. */
typedef struct rf_lab_sweep {
    char name[32];      /* "rho" */
    const char *values; /* to go through if none are given: "0.5,1,2"; NULL: no such */
    const char *title, *axis; /* of a chart; NULL: none */
} rf_lab_sweep;

bool rf_lab_sweep_at(size_t i, rf_lab_sweep *out);           /* false past the end */
bool rf_lab_sweep_find(const char *name, rf_lab_sweep *out); /* false: no such */

typedef struct rf_lab_event {
    const char *run;     /* "banking 0.25 seed 0 ans minilm" */
    size_t done, total;  /* runs, including those of earlier calls */
    double seconds_left; /* of all runs, estimated */
    bool scaled;         /* finished runs give the estimates their scale; else they are
                          * those of the machine that the model was measured on */
    bool finished;       /* this run has just finished */
    bool before;         /* an earlier call finished it */
    double seconds;      /* its training took, or is estimated to take */
    double accuracy, f1;
    double trained_accuracy, trained_f1; /* rf_lab_update: of a training beside it */
    const char *error; /* why this run failed; the others continue. NULL: it did not */
    const rf_train_event *training; /* its progress, NULL between stages */
} rf_lab_event;

/* Called for every run, including those done before, and during training. A result other
 * than 0 stops with RF_ERR_STOPPED; the next call resumes. */
typedef int (*rf_lab_progress)(void *user, const rf_lab_event *event);

/* Does the runs that are not done yet. A run that fails on its own account (it diverges)
 * is reported and skipped; the call returns the first such failure in the end. RF_ERR_ARG
 * if runs.jsonl has a run of the same name with other settings or texts. */
rf_status rf_lab_run(const rf_lab_options *options, rf_lab_progress progress, void *user,
                     rf_error *err);
/* Only reports the runs, with estimated times. */
rf_status rf_lab_plan(const rf_lab_options *options, rf_lab_progress progress, void *user,
                      rf_error *err);

/* Puts the runs of n directories, and those that out has, into out/runs.jsonl, in the
 * order of their keys, and says how many there are. A run that is there twice with the
 * same settings and figures counts once; RF_ERR_ARG if they differ, RF_ERR_MISSING if one
 * of dirs has no runs. The file is replaced as a whole or not at all: no lab may be
 * writing to it. */
rf_status rf_lab_merge(const char *const *dirs, size_t n, const char *out, size_t *runs,
                       rf_error *err);

/* Measures learning after training. For each set and seed a model of method "ans" is
 * trained on the first round(K from) of the K classes in the order drawn, and learns the
 * others up to round(K to) with rf_update, a class at a time. At first, after every
 * `every`-th class and at last it answers the whole test file, and so does a model
 * trained on the same classes at once: one line of OUT/updates.jsonl, and one "run" of
 * the events. OUT/cache keeps the
 * first model and the latest. ratios, methods,
 * variants and open_texts do not count; otherwise as rf_lab_run. */
rf_status rf_lab_update(const rf_lab_options *options, rf_lab_progress progress,
                        void *user, rf_error *err);
/* Only reports the points, with estimated times. */
rf_status rf_lab_update_plan(const rf_lab_options *options, rf_lab_progress progress,
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
                          * "negatives", "paired", "sweeps", "few", "updates",
                          * "loop" */
    const char *encoder; /* NULL: all, one after another */
} rf_table_options;

/* The runs of dir as tables: means over seeds with published numbers beside them, spread,
 * paired comparisons. options may be NULL. *text is freed with free(); on failure it is
 * NULL. RF_ERR_MISSING if there are no runs, or none with this encoder. */
rf_status rf_lab_table(const char *dir, const rf_table_options *options, char **text,
                       rf_error *err);

typedef struct rf_lab_report_options {
    const char *title;   /* any text; NULL: "Open-world classification" */
    const char *data;    /* directory of the sets, for the maps of heads; NULL: no maps */
    const char *encoder; /* only its runs; NULL: all, the one with the most runs first */
    /* The experiment to draw maps of. NULL: oos, else the first set; 0: ratio 0.25 and
     * seed 0, else the lowest that was run. */
    const char *set;
    double ratio;
    uint64_t seed;
    size_t threads;       /* 0: one per CPU; the bytes are the same for any number */
    rf_progress progress; /* may be NULL */
    void *user;
} rf_lab_report_options;

/* The runs of dir as an HTML page: what was run, methods compared with each other and
 * with published numbers, ablation, sweeps, confusions, times and, with data, maps of
 * what three heads see. The maps take stage 1 from dir/cache or train it, and they
 * contain texts of the test set. The page needs no other file and no network. options may
 * be NULL. Written whole or not at all; the same runs give the same bytes. RF_ERR_MISSING
 * if there are no runs, or none with this encoder. */
rf_status rf_lab_report(const char *dir, const rf_lab_report_options *options,
                        const char *path, rf_error *err);

#endif /* RF_LAB_LAB_H */
