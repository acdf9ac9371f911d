/*
 * ringfence.h - text classification that knows what it does not know
 *
 *   rf_error err;
 *   rf_decision d;
 *   rf_model *model = rf_model_load("tickets.rf", &err);
 *   rf_session *session = model ? rf_session_new(model, 0, &err) : NULL;
 *   if (!session || rf_classify(session, "where is my parcel", 18, &d, &err) != RF_OK)
 *       return fail(err.msg);
 *   printf("%s %.2f\n", rf_model_label(model, d.class_index), d.confidence);
 *   rf_session_free(session);
 *   rf_model_free(model);
 *
 * The model comes from labelled texts:
 *
 *   rf_dataset *data = rf_dataset_read("tickets.tsv", NULL, &err);   // text, label
 *   rf_model *model = data ? rf_train(data, NULL, NULL, &err) : NULL;
 *   if (!model || rf_model_save(model, "tickets.rf", NULL, &err) != RF_OK)
 *       return fail(err.msg);
 *
 * Contents: status and errors, models, answers, explanations and maps, evaluation,
 * reports, training, labelled data, limits. Beside it: ringfence_improve.h (check data,
 * move fences, learn more, compare models), ringfence_review.h (new classes among
 * rejected texts) and ringfence_encoder.h (encoders, features and tokens by themselves).
 *
 * Conventions
 *   Text     is UTF-8, given as pointer and length; it need not end in NUL and may hold
 *            any bytes. What is not UTF-8 counts as U+FFFD (docs/MODEL.md, "Text").
 *   Failure  is an rf_status other than RF_OK, or NULL from a function that makes
 *            something. Details go to *err; err may always be NULL. The library never
 *            prints and never exits.
 *   Files    of a loaded model or encoder stay memory-mapped: replace them by renaming,
 *            never by writing into them, or the process gets SIGBUS. (A model loaded
 *            from memory maps nothing.) Files that we write appear complete or not at
 *            all. Beyond a file size limit the process gets SIGXFSZ; if it ignores that,
 *            writing fails as it does on a full disk.
 *   Threads  Any number of threads may share an rf_model; only rf_model_move_fences
 *            changes one. An rf_session is one caller's working state: one thread at a
 *            time. Any number of threads may read an rf_dataset while none adds to it.
 *            After fork() the child makes its own sessions; it neither uses nor frees
 *            those of its parent, whose threads it does not have.
 *   Memory   What a _new, _load or rf_train returns is the caller's and goes to the
 *            matching _free, which accepts NULL. A returned const pointer belongs to the
 *            object it was asked from. Text that a function allocates goes to free().
 *   Options  are structs that may grow. Start from the _default() function; it also sets
 *            struct_size, by which a newer library recognises an older caller. A NULL
 *            pointer to options means the defaults. In options, 0 and NULL mean "choose
 *            for me", and a negative number means "none".
 *   Bits     The same input gives the same bits for any number of threads and whatever
 *            else is in the batch, and on any CPU, in either rf_precision. (Training, and
 * the prior of "ans", use the exp and log of the C library: another library may differ in
 * the last bit.)
 */
#ifndef RINGFENCE_H
#define RINGFENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RF_API __attribute__((visibility("default")))
#else
#define RF_API
#endif

/* ---- Status and error -------------------------------------------------------------- */

/* Released values never change; new ones are added at the end. */
typedef enum rf_status {
    RF_OK = 0,
    RF_ERR_ARG = 1,     /* the caller broke the contract of this function */
    RF_ERR_NOMEM = 2,   /* out of memory */
    RF_ERR_IO = 3,      /* the operating system reported an error, quoted in msg */
    RF_ERR_FORMAT = 4,  /* the bytes are not what the format requires */
    RF_ERR_VERSION = 5, /* a format we know, in a version or kind we do not */
    RF_ERR_LIMIT = 6,   /* larger than a documented limit */
    RF_ERR_NUMERIC = 7, /* a NaN or an infinity where none may be */
    RF_ERR_MISSING = 8, /* not there: a file, a cached encoder, a program */
    RF_ERR_STOPPED = 9, /* the caller's progress function asked to stop */
} rf_status;

/* Filled on failure only. pos is a byte offset or a line number, 0 if there is none;
 * msg names the file, the place, what was found and what was wanted. */
typedef struct rf_error {
    rf_status code;
    size_t pos;
    char msg[512];
} rf_error;

/* A short name for a status, never NULL: "bad format". */
RF_API const char *rf_status_name(rf_status code);

/* Of this header; rf_version() is that of the library in use, "0.1.0". */
#define RF_VERSION_MAJOR 0
#define RF_VERSION_MINOR 1
#define RF_VERSION_PATCH 0
#define RF_VERSION "0.1.0"
RF_API const char *rf_version(void);

/* The numeric kernels in use: "avx2" or "portable". Chosen once per process by what the
 * CPU offers. Both give the same bits; "avx2" also uses AVX-VNNI and AVX-512 where the
 * CPU has them. RINGFENCE_KERNELS in the environment chooses a path: portable, avx2,
 * avxvnni, avx512 or avx512vnni; one that the CPU lacks is ignored. */
RF_API const char *rf_kernels_name(void);

/* Called with a line of text (no newline) as a long call proceeds, on the calling thread.
 * Return 0 to go on; anything else ends the call with RF_ERR_STOPPED and nothing written.
 * May be NULL. */
typedef int (*rf_progress)(void *user, const char *line);

/* ---- Types ------------------------------------------------------------------------- */

typedef struct rf_model rf_model;     /* a trained classifier */
typedef struct rf_session rf_session; /* threads and memory to ask one with */
typedef struct rf_dataset rf_dataset; /* texts with labels */

/* ---- Models ------------------------------------------------------------------------ */

#define RF_OPEN SIZE_MAX /* the class index that stands for "none of these" */

/* Loads a model file, checking every byte of it against its checksums. A slim model needs
 * its encoder in the cache (RF_ERR_MISSING says which). */
RF_API rf_model *rf_model_load(const char *path, rf_error *err);
/* The same from a model file that is in memory. The bytes are not copied: they must start
 * at a multiple of 8 (as malloc gives them) and stay unchanged until rf_model_free. name
 * is for messages and may be NULL. */
RF_API rf_model *rf_model_load_bytes(const void *bytes, size_t len, const char *name,
                                     rf_error *err);
RF_API void rf_model_free(rf_model *model);

RF_API size_t rf_model_classes(const rf_model *model);
/* The name of a class; "open" for RF_OPEN; NULL past the end. Lives as long as model. */
RF_API const char *rf_model_label(const rf_model *model, size_t class_index);
/* The class of this name, RF_OPEN if the model does not know it. */
RF_API size_t rf_model_find(const rf_model *model, const char *label, size_t len);
/* Everything the model file says about itself, as one JSON object (docs/FORMAT.md);
 * NUL-terminated, lives as long as model. */
RF_API const char *rf_model_json(const rf_model *model);

/* The facts of that description that programs ask for. Strings live as long as model. A
 * share or an accuracy that is not known is negative. */
typedef struct rf_model_summary {
    const char *program, *method;                   /* "ringfence 0.1.0", "ans" */
    const char *encoder;                            /* name, or directory */
    const char *encoder_sha256;                     /* of its weights */
    bool encoder_contained;                         /* in the model file */
    size_t layers, tuned_layers, width, parameters; /* of the encoder */
    size_t max_tokens;                              /* of a text */
    size_t classes;
    size_t rows, dev_rows;     /* that training saw */
    bool dev_held_out;         /* the dev rows were taken out of the training data */
    size_t dev_unknown;        /* dev rows left out: their label is no class */
    size_t open_texts;         /* texts of no class that training saw */
    size_t cut_texts;          /* training texts longer than max_tokens */
    size_t epochs, best_epoch; /* of stage 1 */
    double loss;               /* mean of the last epoch */
    double dev_accuracy;       /* per cent, among the known classes */
    size_t kept_rows;          /* training rows whose features the model keeps */
    bool kept_texts;           /* and their texts */
    size_t map_points;         /* points of the map */
} rf_model_summary;
RF_API void rf_model_summarize(const rf_model *model, rf_model_summary *out);

typedef struct rf_class_summary {
    const char *label;
    size_t rows;       /* that it was trained on */
    double distance;   /* average between two of its texts */
    double radius;     /* of the shell of synthetic negatives; 0 without one */
    double recall;     /* share of its training texts that its fence accepts, 0..1 */
    double dev_recall; /* of its dev texts */
} rf_class_summary;
/* False past the last class; *out is then unchanged. */
RF_API bool rf_model_class(const rf_model *model, size_t class_index,
                           rf_class_summary *out);

typedef struct rf_save_options {
    size_t struct_size;
    bool slim;          /* refer to the cached encoder instead of containing it */
    bool no_features;   /* leave out the training features, and the map with them */
    bool keep_examples; /* store the training texts, for explanations, if the model has
                         * them and their features are stored; true by default */
} rf_save_options;

RF_API void rf_save_options_init(rf_save_options *options, size_t struct_size);
static inline rf_save_options rf_save_options_default(void)
{
    rf_save_options options;
    rf_save_options_init(&options, sizeof options);
    return options;
}

/* Writes a model that was trained or loaded; options may be NULL. The file appears
 * complete or not at all: an existing one stays as it was when anything fails. */
RF_API rf_status rf_model_save(const rf_model *model, const char *path,
                               const rf_save_options *options, rf_error *err);
/* The bytes of that file in memory, for rf_model_load_bytes: *bytes is freed with free(),
 * and NULL on failure. */
RF_API rf_status rf_model_save_bytes(const rf_model *model,
                                     const rf_save_options *options, void **bytes,
                                     size_t *len, rf_error *err);

/* ---- Answering --------------------------------------------------------------------- */

typedef struct rf_decision {
    size_t class_index;  /* the answer; RF_OPEN if margin is below 0 */
    float confidence;    /* that the answer is right, 0..1 (docs/MODEL.md) */
    float margin;        /* of the deciding fence: margins[margin_class] */
    size_t margin_class; /* that fence; with "ans" the one with the largest margin */
    size_t nearest;      /* the most likely known class, also if the answer is open */
    /* By class, [rf_model_classes]; valid until the session is used again or freed. */
    const float *probabilities; /* of the known classes among themselves; sum 1 */
    const float *margins;       /* a fence accepts at 0 and above */
    const float *feature;       /* [encoder width] */
} rf_decision;

/* How an encoder computes its dense layers. Both give the same bits on every CPU. int8 is
 * several times as fast and slightly less exact (docs/MODEL.md, "Integers"): weights have
 * 8 bits and a scale per output, inputs 8 bits and a scale per token. */
typedef enum rf_precision {
    RF_PRECISION_DEFAULT = 0, /* fp32 */
    RF_PRECISION_FP32 = 1,
    RF_PRECISION_INT8 = 2,
} rf_precision;

typedef struct rf_session_options {
    size_t struct_size;
    size_t threads; /* 0: one per CPU we may use */
    rf_precision precision;
    bool all_heads; /* ask every class's network, not only those that might decide the
                     * answer (docs/MODEL.md, "Many classes") */
} rf_session_options;

RF_API void rf_session_options_init(rf_session_options *options, size_t struct_size);
static inline rf_session_options rf_session_options_default(void)
{
    rf_session_options options;
    rf_session_options_init(&options, sizeof options);
    return options;
}

/* options may be NULL. Borrows model, which must outlive the session. The first session
 * in int8 quantises the encoder's weights (milliseconds); the model keeps them for the
 * others. */
RF_API rf_session *rf_session_open(const rf_model *model,
                                   const rf_session_options *options, rf_error *err);
/* The same with this number of threads; 0: one per CPU. */
RF_API rf_session *rf_session_new(const rf_model *model, size_t threads, rf_error *err);
RF_API void rf_session_free(rf_session *session);

/* Moves all fences for this session alone: offset is added to every margin, so above 0
 * more texts get a class. 0, the default, is where the model has them. Confidence stays
 * the chance that the answer is right: another fence gives other answers, not other
 * chances. Texts that were fed and have no answer yet count as well; flush before to
 * exclude them. RF_ERR_ARG unless offset is a number from -RF_MAX_FENCE to
 * RF_MAX_FENCE. */
RF_API rf_status rf_session_set_fence(rf_session *session, float offset, rf_error *err);

/* One text, with the least delay. Allocates nothing. */
RF_API rf_status rf_classify(rf_session *session, const char *text, size_t len,
                             rf_decision *out, rf_error *err);

/* Many texts: the sink is called in input order, on the calling thread; anything but
 * RF_OK from it ends the call. Or a stream: a text in any number of pieces, then
 * rf_session_end_text; answers come when a batch is full or on rf_session_flush. A sink
 * cannot use the session that calls it (RF_ERR_ARG). All numbers are finite, else
 * RF_ERR_NUMERIC. */
typedef rf_status (*rf_decision_sink)(void *user, const rf_decision *decision,
                                      rf_error *err);
RF_API rf_status rf_classify_all(rf_session *session, const char *const *texts,
                                 const size_t *lens, size_t n, rf_decision_sink sink,
                                 void *user, rf_error *err);
RF_API void rf_session_set_sink(rf_session *session, rf_decision_sink sink, void *user);
RF_API rf_status rf_session_feed(rf_session *session, const char *bytes, size_t len,
                                 rf_error *err);
RF_API rf_status rf_session_end_text(rf_session *session, rf_error *err);
RF_API rf_status rf_session_flush(rf_session *session, rf_error *err);

/* Many texts without a sink: the answers go to arrays of the caller, which have a row for
 * each text. An array that is NULL is left out. The fields are those of rf_decision. On
 * failure the contents of the arrays are undefined. */
typedef struct rf_answer_arrays {
    size_t *class_index, *margin_class, *nearest; /* [n] */
    float *confidence, *margin;                   /* [n] */
    float *probabilities, *margins;               /* [n, rf_model_classes] */
    float *features;                              /* [n, encoder width] */
} rf_answer_arrays;
RF_API rf_status rf_classify_arrays(rf_session *session, const char *const *texts,
                                    const size_t *lens, size_t n,
                                    const rf_answer_arrays *out, rf_error *err);

/* ---- Explanations and maps --------------------------------------------------------- */

/* The training texts nearest to a feature, nearest first. *n is the size of out on entry,
 * the number found on return. RF_ERR_MISSING if the model keeps no features; text is NULL
 * if it keeps features but no texts. Text and label live as long as the model. */
typedef struct rf_neighbour {
    const char *text; /* not NUL-terminated */
    size_t text_len;
    size_t class_index;
    float distance; /* Euclidean */
} rf_neighbour;
RF_API rf_status rf_explain(const rf_model *model, const float *feature,
                            rf_neighbour *out, size_t *n, rf_error *err);
/* Why an answer is open, in words: would be "refund" (3 of 3 nearest texts), rejected by
 * 2.80. The class is that of the deciding fence; if more of the nearest texts are of
 * another, it is named too. nearest [n] comes from rf_explain; n 0: without. Returns out,
 * which is cut to fit cap bytes and empty if the answer is not open. RF_REASON_MAX bytes
 * hold any reason. */
#define RF_REASON_MAX 2400
RF_API char *rf_open_reason(const rf_model *model, const rf_decision *decision,
                            const rf_neighbour *nearest, size_t n, char *out, size_t cap);

/* Words of a text that the encoder does not know, each once, in order, as far as the
 * model reads the text; at most 50. They are folded as the encoder folds them (lower
 * case, without accents). *words has *n of them one after another, each with a NUL at its
 * end; it is freed with free(), and NULL on failure. */
RF_API rf_status rf_unknown_words(const rf_model *model, const char *text, size_t len,
                                  char **words, size_t *n, rf_error *err);

/* Whether the model keeps its training texts and their features. */
RF_API bool rf_model_has_examples(const rf_model *model);

/* The map: training texts in 2-D, drawn at the end of training so that texts with similar
 * features are close (t-SNE). Neighbourhoods have a meaning; the size of a group, the
 * distance between groups and the orientation have none. */
typedef struct rf_map_point {
    float x, y; /* -1..1 */
    size_t class_index;
    const char *text; /* not NUL-terminated; NULL if the model keeps no texts */
    size_t text_len;
} rf_map_point;
/* Points of the map; 0: the model has none. */
RF_API size_t rf_model_map_size(const rf_model *model);
/* Point i < rf_model_map_size; lives as long as the model. */
RF_API rf_map_point rf_model_map_point(const rf_model *model, size_t i);
/* Places a feature (rf_decision.feature) on the map, among the nearest training texts; so
 * an open text, too, lands in some group: see rf_decision_place. The feature of a point
 * of the map lands on it, up to the rounding of features to half precision.
 * RF_ERR_MISSING if there is no map; on failure *x and *y are 0. */
RF_API rf_status rf_model_place(const rf_model *model, const float *feature, float *x,
                                float *y, rf_error *err);
/* The ring around the map, where open texts are: radii around (0, 0), both 0 if there is
 * no map. No point of the map is inside it. */
typedef struct rf_map_ring {
    float inner, outer;
} rf_map_ring;
RF_API rf_map_ring rf_model_map_ring(const rf_model *model);
/* The same for a decision, which must still be valid: if the answer is a class, among the
 * texts it resembles; if it is open, on the ring, in their direction, the farther out the
 * less it resembles them. */
RF_API rf_status rf_decision_place(const rf_model *model, const rf_decision *decision,
                                   float *x, float *y, rf_error *err);

#define RF_NEIGHBOUR_TEXT_MAX 1000 /* bytes; longer ones are cut, and say "cut": true */

/* A decision as the JSON object that `ringfence predict --json` prints and the service
 * answers: label, open, confidence, margin, ranking, accepted, nearest_rejecting, the
 * reason of an open answer, and what the options ask for. */
typedef struct rf_answer_options {
    size_t struct_size;
    size_t top;       /* most likely known classes in "ranking"; 5 by default */
    size_t margins;   /* largest margins in "margins"; 0: without */
    size_t explain;   /* nearest training texts in "neighbours", each up to
                       * RF_NEIGHBOUR_TEXT_MAX bytes; 0: without */
    bool map;         /* "map": [x, y], where the text falls (rf_decision_place) */
    const char *text; /* repeated as "text"; NULL: without */
    size_t text_len;
    const char *source; /* the text that was classified, for "unknown_words": those of
                         * rf_unknown_words; NULL: without */
    size_t source_len;
} rf_answer_options;

RF_API void rf_answer_options_init(rf_answer_options *options, size_t struct_size);
static inline rf_answer_options rf_answer_options_default(void)
{
    rf_answer_options options;
    rf_answer_options_init(&options, sizeof options);
    return options;
}

/* decision must still be valid; options may be NULL. *json is NUL-terminated and freed
 * with free(), its length goes to *len if that is not NULL; NULL on failure: what
 * rf_explain and rf_decision_place fail with, RF_ERR_LIMIT beyond 256 MiB, or
 * RF_ERR_NOMEM.
 */
RF_API rf_status rf_decision_json(const rf_model *model, const rf_decision *decision,
                                  const rf_answer_options *options, char **json,
                                  size_t *len, rf_error *err);

/* ---- Evaluating -------------------------------------------------------------------- */

typedef struct rf_class_score {
    size_t support, predicted, correct;
    double precision, recall, f1; /* 0..100; 0 where nothing could be divided */
} rf_class_score;

/* Answers whose confidence lies between i and i + 1 tenths (1 counts in the last). */
#define RF_RELIABILITY_BINS 10
typedef struct rf_reliability_bin {
    size_t count, correct;
    double confidence; /* mean, 0..100; 0 for an empty bin */
    double right;      /* share that was right, likewise */
} rf_reliability_bin;

/* Texts of one class that were answered with one class, the same or another. */
typedef struct rf_confusion {
    size_t truth, answer; /* indices into rf_evaluation.scores: classes stands for open */
    size_t count;         /* texts, at least 1 */
} rf_confusion;

/* Figures as published for open intent recognition, and three more; all but mcc are in
 * per cent. Classes are the model's and "open", which comes last. Definitions:
 * docs/MODEL.md, "Figures". */
typedef struct rf_evaluation {
    size_t n, n_open; /* rows; rows whose label the model does not know */
    size_t classes;   /* of the model */
    double accuracy, f1, f1_known, f1_open;
    rf_class_score *scores; /* [classes + 1] */
    /* The cells of the confusion matrix that are not 0, by truth, then answer. (A whole
     * matrix of 100,000 classes would take 80 GB.) */
    rf_confusion *confusion; /* [n_confusion] */
    size_t n_confusion;
    /* Expected calibration error over all answers: the mean distance between the share
     * of right answers in a bin and the mean confidence in it. */
    double calibration_error;
    rf_reliability_bin reliability[RF_RELIABILITY_BINS];
    double f1_tested; /* mean F1 of the classes that have rows, open included */
    double mcc;       /* Matthews correlation over all classes, -1..1; 0 if undefined */
    /* Chance that a known row has a larger deciding margin than an open one, ties
     * counting half; NaN unless there are rows of both kinds. */
    double auroc;
} rf_evaluation;

/* Classifies every row of data. Labels that the model does not know count as open. */
RF_API rf_status rf_evaluate(rf_session *session, const rf_dataset *data,
                             rf_evaluation *out, rf_error *err);
/* Frees what the struct holds; accepts a zeroed one. */
RF_API void rf_evaluation_release(rf_evaluation *evaluation);

/* Every pair of a label and a wrong answer that occurred, most texts first; ties in order
 * of truth, then answer. *list has *n entries and is freed with free(); on failure it is
 * NULL. */
RF_API rf_status rf_evaluation_confusions(const rf_evaluation *evaluation,
                                          rf_confusion **list, size_t *n, rf_error *err);

/* What a model promises that was trained to an error budget, or whose fences were placed
 * by known and open rows (rf_model_move_fences): shares 0..1, with 95 % intervals. */
typedef struct rf_promise {
    double max_accept;              /* open texts given a class, at most; 0: no limit */
    double expected_accept;         /* the share that folds lead one to expect */
    double accept_low, accept_high; /* its interval */
    double max_reject;              /* known texts called open, at most; 0: no limit */
    bool tells_reject;              /* whether the next three are set */
    double expected_reject;
    double reject_low, reject_high;
} rf_promise;

/* False if the model promises nothing; *out is then unchanged. */
RF_API bool rf_model_promise(const rf_model *model, rf_promise *out);
/* A cell of the confusion matrix, by indices as in rf_confusion. */
RF_API size_t rf_evaluation_count(const rf_evaluation *evaluation, size_t truth,
                                  size_t answer);
/* The number of open texts that were given a class. */
RF_API size_t rf_evaluation_accepted(const rf_evaluation *evaluation);

/* ---- Reports ----------------------------------------------------------------------- */

typedef struct rf_report_options {
    size_t struct_size;
    const char *title;    /* any text; NULL: "Report of a classifier" */
    size_t threads;       /* 0: one per CPU; the bytes are the same for any number */
    size_t max_points;    /* texts on the map; larger sets are sampled */
    uint64_t seed;        /* of that sample */
    rf_progress progress; /* may be NULL */
    void *user;
} rf_report_options;

RF_API void rf_report_options_init(rf_report_options *options, size_t struct_size);
static inline rf_report_options rf_report_options_default(void)
{
    rf_report_options options;
    rf_report_options_init(&options, sizeof options);
    return options;
}

/* Classifies every row of test and writes an HTML page about it: figures with what they
 * mean, margins, a map of the texts, every class, the worst confusions, texts to look at,
 * and what the model is. The page needs no other file and no network, and it contains
 * texts of the test set. Labels that the model does not know count as open. options may
 * be NULL. Written whole or not at all; the same input gives the same bytes. */
RF_API rf_status rf_report_model(const rf_model *model, const rf_dataset *test,
                                 const rf_report_options *options, const char *path,
                                 rf_error *err);

/* ---- Training ---------------------------------------------------------------------- */

typedef enum rf_stage {
    RF_STAGE_ENCODE = 0,   /* frozen layers over all texts, once */
    RF_STAGE_KNOWN = 1,    /* tuning the upper layers and the classifier */
    RF_STAGE_FEATURES = 2, /* features of all texts from the tuned encoder */
    RF_STAGE_OPEN = 3,     /* one head per class */
    RF_STAGE_FOLDS = 4, /* trainings without some classes, to choose settings and fences;
                         * comes after RF_STAGE_ENCODE */
    RF_STAGE_MAP = 5,   /* the map of the training texts, last of all */
} rf_stage;

typedef struct rf_train_event {
    rf_stage stage;
    size_t done, total;  /* of this stage: texts in ENCODE and FEATURES, optimiser steps
                          * in KNOWN, heads in OPEN (0 of 0 for a method without heads),
                          * parts of about equal time in FOLDS, iterations in MAP */
    size_t epoch;        /* KNOWN: epochs finished; FOLDS: the current fold, from 1 */
    size_t epochs;       /* KNOWN: planned at most; FOLDS: the number of folds */
    bool epoch_end;      /* KNOWN: an epoch ended, the next two are new; FOLDS: a fold
                          * ended */
    double loss;         /* KNOWN: mean over the epoch; OPEN: over the last head */
    double dev_accuracy; /* 0..100: accuracy, or the method's own score by which epochs
                          * are compared (docs/MODEL.md); negative without dev texts */
    double seconds;      /* since training began */
    double seconds_left; /* of this stage, estimated; negative if not known yet */
} rf_train_event;

/* Called several times a second on the thread that called rf_train. Return 0 to go on;
 * anything else ends training with RF_ERR_STOPPED, and the checkpoint stays. */
typedef int (*rf_train_progress)(void *user, const rf_train_event *event);

/* Methods to tell known from open. The default is "ans"; the others are from the
 * literature, for comparison (docs/MODEL.md, "Methods"). Returns name i, its title for
 * tables and one line about it; NULL past the end. title and summary may be NULL. */
RF_API const char *rf_method_name(size_t i, const char **title, const char **summary);

/* The numbers that shape a training. A program gives the few that it changes as text, in
 * rf_train_options.settings; docs/MODEL.md explains each and how its default was found.
 */
typedef enum rf_setting_kind {
    RF_SETTING_COUNT = 0,  /* a whole number */
    RF_SETTING_NUMBER = 1, /* kept as a float */
    RF_SETTING_FLAG = 2,   /* 0 or 1 */
} rf_setting_kind;

typedef struct rf_setting {
    const char *name;    /* "head_steps", as in rf_train_options.settings */
    const char *option;  /* of the program: "head-steps"; NULL: it has none. The option of
                          * a flag gives it the value that is not its default */
    const char *help;    /* what it does, in one line without a full stop */
    const char *topic;   /* of a list: "stage 1, the known classes" */
    const char *methods; /* that read it, "ans ovr"; NULL: all */
    const char *automatic; /* how it is chosen unless given, which the word "auto" also
                            * stands for; NULL: it has a fixed default */
    rf_setting_kind kind;
    double preset;   /* the default; of an automatic one the number that means "auto" */
    double min, max; /* of a value that is given */
    bool common;     /* among the few that most people may want to change */
} rf_setting;

/* Setting i, NULL past the end. */
RF_API const rf_setting *rf_setting_at(size_t i);

/* Settings can be chosen on the data: trainings that hide some of the classes show what
 * happens to open texts (docs/MODEL.md, "Self-tuning"). */
typedef enum rf_tune_effort {
    RF_TUNE_OFF = 0,
    RF_TUNE_QUICK = 1,    /* three folds, three candidates: about two to three trainings
                           * more; more than that with train_layers 0 */
    RF_TUNE_THOROUGH = 2, /* six folds, eight candidates: about four to seven, likewise */
} rf_tune_effort;

/* 0 and NULL mean "chosen for me", negative numbers "none". */
typedef struct rf_train_options {
    size_t struct_size;
    const char *encoder;  /* catalogue name, directory, or OWNER/NAME of the
                           * Hugging Face hub that is in the cache; NULL: minilm */
    const char *method;   /* NULL: ans; "ovr" is ans with lambda 0 */
    const char *settings; /* "rho=1.5 head_steps=300": names of rf_setting_at and values,
                           * with blanks between them, of two the later counts; NULL: all
                           * at their defaults. RF_ERR_ARG for an unknown name or a
                           * value out of range */
    const rf_dataset *open_texts; /* examples of open texts, for ans (may be NULL) and
                                   * selfsup (needs some); their labels are ignored */
    uint64_t seed;
    size_t threads;        /* 0: one per CPU; the result is the same for any number */
    size_t max_tokens;     /* per text; 0: the encoder's maximum, at most 512 */
    double dev_share;      /* held out by class if no dev set is given; 0: automatic
                            * (nothing if folds place the fence, else 0.1), negative:
                            * nothing is held out */
    int64_t cache_mb;      /* frozen activations above this go to a file; 0: 1024,
                            * negative: all do */
    const char *cache_dir; /* for that file; NULL: $TMPDIR or /tmp */

    /* With the help of folds; methods with heads only */
    rf_tune_effort tune;     /* Without folds (fewer than three classes, no dev texts)
                              * training goes on with the settings given, and
                              * summary.tuning.why_not says why; a budget is RF_ERR_ARG
                              * then. With resume the folds are run again */
    double max_false_accept; /* share of open texts that may be let in, up to 0.5; 0: no
                              * budget. Replaces fence_reject and fence_offset. RF_ERR_ARG
                              * if the data cannot support the claim */
    double max_false_reject; /* share of known texts that may be called open, likewise.
                              * With both budgets, training can fail (RF_ERR_ARG) as late
                              * as after stage 2, if this one does not hold then */

    int64_t map_points; /* training texts on the map, at most 100,000; larger sets are
                         * sampled evenly by class; 0: 4000, negative: no map */

    const char *checkpoint; /* directory; NULL: none */
    bool resume;            /* continue from the checkpoint, if there is one */
    rf_train_progress progress;
    void *user;
} rf_train_options;

RF_API void rf_train_options_init(rf_train_options *options, size_t struct_size);
static inline rf_train_options rf_train_options_default(void)
{
    rf_train_options options;
    rf_train_options_init(&options, sizeof options);
    return options;
}

/* Trains a model on labelled texts. dev may be NULL: then dev_share of each class is held
 * out to decide when to stop. Neither set is changed; both may be freed afterwards. The
 * same data, options and seed give the same model to the last bit, for any number of
 * threads. */
RF_API rf_model *rf_train(const rf_dataset *train, const rf_dataset *dev,
                          const rf_train_options *options, rf_error *err);

/* Only chooses the settings, with the effort in the options (RF_TUNE_OFF counts as
 * quick): encodes the texts and runs the folds. *json is an object {"settings": ...,
 * "tuning": ...}, NUL-terminated, freed with free(), NULL on failure. Without folds the
 * settings are those of the options, and tuning.why_not says why. Budgets and checkpoint
 * are ignored. dev and options may be NULL, as in rf_train. RF_ERR_ARG for a method
 * without heads. The same data, options and seed give the same text for any number of
 * threads; another seed groups other classes in a fold and may choose other settings. */
RF_API rf_status rf_tune_settings(const rf_dataset *train, const rf_dataset *dev,
                                  const rf_train_options *options, char **json,
                                  rf_error *err);

/* The settings of such an object as text for rf_train_options.settings: freed with
 * free(), NULL on failure. name is for messages and may be NULL. RF_ERR_FORMAT for keys
 * that it should not have and for values out of range. */
RF_API rf_status rf_settings_from_json(const char *json, size_t len, const char *name,
                                       char **settings, rf_error *err);

/* ---- Labelled data ----------------------------------------------------------------- */

/* Texts with labels. A class is a label that occurs; classes are numbered from 0 in byte
 * order of their names, whatever the order of the rows. See docs/FORMAT.md, "Labelled
 * data", for how files are read. */

typedef enum rf_data_format {
    RF_DATA_AUTO = 0,      /* by the file's content and name */
    RF_DATA_TSV = 1,       /* quoted as CSV is, unless raw_tsv */
    RF_DATA_CSV = 2,       /* RFC 4180; also with ; | or tabs, as the first rows show */
    RF_DATA_JSONL = 3,     /* one object per line */
    RF_DATA_JSON = 4,      /* an array of rows, an object of such arrays or of columns */
    RF_DATA_FASTTEXT = 5,  /* __label__x text */
    RF_DATA_RASA_YAML = 6, /* Rasa's nlu.yml */
    RF_DATA_RASA_MD = 7,   /* and its older nlu.md */
    RF_DATA_LUIS = 8,      /* an export of LUIS or of CLU, its successor */
    RF_DATA_SNIPS = 9,     /* a data set of Snips NLU */
    RF_DATA_DIALOGFLOW = 10, /* an export of Dialogflow ES or CX, a directory or zip */
    RF_DATA_FOLDERS = 11,    /* a directory or zip of class/name.txt, a text each */
    RF_DATA_LINES = 12,      /* a text per line, without labels */
} rf_data_format;

typedef enum rf_data_header {
    RF_HEADER_AUTO = 0, /* there is one if a column is given by name, or if the first row
                         * holds a usual name of both ("text" and "label", ...) */
    RF_HEADER_YES = 1,
    RF_HEADER_NO = 2,
} rf_data_header;

/* A column is a name (case does not count) or a number from 1; in JSON it is always a
 * key. NULL: known by its usual name (text, sentence, utterance, query, question,
 * message; label, intent, class, category), else, of just two columns, the one that is
 * left, text first. Of more than two, none is guessed: RF_ERR_FORMAT asks for it. */
typedef struct rf_data_options {
    size_t struct_size;
    rf_data_format format;
    rf_data_header header; /* of formats with columns in a fixed order */
    const char *text_column;
    const char *label_column;
    bool raw_tsv; /* quotes are plain characters; rows with another number of fields than
                   * the first are dropped and counted (the published protocol) */
    bool skip_bad_rows; /* rows that cannot be read are left out and counted */
    bool texts_only;    /* labels are not needed; a file of unknown format has a text per
                         * line, and a table must have a header or say that it has none */
    char delimiter;     /* of CSV; 0: found */
    const char *encoding; /* NULL: UTF-8, and anything else is refused. "latin1", "utf-16"
                           * or another that iconv knows: converted. "bytes": texts are
                           * taken as they are */
    const char *part;    /* which parts of a file are read, separated by commas, or "all";
                          * NULL: there must be just one */
    size_t max_unpacked; /* bytes of packed data after unpacking, and of a file that is
                          * read as a whole; 0: 1 GiB */
} rf_data_options;

RF_API void rf_data_options_init(rf_data_options *options, size_t struct_size);
static inline rf_data_options rf_data_options_default(void)
{
    rf_data_options options;
    rf_data_options_init(&options, sizeof options);
    return options;
}

/* Reads a whole file, or a directory or zip with many; path NULL or "-" is standard
 * input. gzip and zstd are recognised by their content; a BOM, CRLF and empty lines are
 * handled. An error names the file, the line (err->pos), what was found and what was
 * wanted. A file without rows is an error. ringfence_data.h reads several files, and all
 * columns.
 */
RF_API rf_dataset *rf_dataset_read(const char *path, const rf_data_options *options,
                                   rf_error *err);

/* Texts without labels: lines, or the texts of any other format; every row gets the label
 * "open". Empty lines are left out. For methods that train on open texts. */
RF_API rf_dataset *rf_dataset_read_texts(const char *path, rf_error *err);

/* An empty set, to be filled row by row; rows can also be added to a set that was read. A
 * text is any bytes up to RF_MAX_TEXT_BYTES. A label is 1 to RF_MAX_LABEL_BYTES of UTF-8
 * without control characters; spaces around it are trimmed. A failed call leaves the set
 * as it was. Both are copied. */
RF_API rf_dataset *rf_dataset_new(rf_error *err);
RF_API rf_status rf_dataset_add(rf_dataset *data, const char *text, size_t text_len,
                                const char *label, size_t label_len, rf_error *err);
RF_API void rf_dataset_free(rf_dataset *data);

RF_API size_t rf_dataset_rows(const rf_dataset *data);
RF_API size_t rf_dataset_classes(const rf_dataset *data);
/* The text of a row, its length in *len if len is not NULL; NUL-terminated too. NULL past
 * the end. Lives as long as data. */
RF_API const char *rf_dataset_text(const rf_dataset *data, size_t row, size_t *len);
/* The class of a row, SIZE_MAX past the end. Adding a new label may change it, and the
 * first call after that sorts all labels; so add all rows first. */
RF_API size_t rf_dataset_class(const rf_dataset *data, size_t row);
/* The line of the file at which a row begins, from 1; 0 for a row that was added and past
 * the end. */
RF_API size_t rf_dataset_line(const rf_dataset *data, size_t row);
/* The name of a class, NUL-terminated; its number of rows in *rows if not NULL. NULL past
 * the end. The name lives as long as data. */
RF_API const char *rf_dataset_label(const rf_dataset *data, size_t class_index,
                                    size_t *rows);

/* What a person should know before training on it. */
typedef struct rf_data_summary {
    size_t rows, classes;
    size_t smallest, largest; /* rows of a class */
    size_t dropped;           /* rows that raw_tsv left out */
    size_t empty;             /* texts of nothing but white space (kept) */
    size_t duplicates;        /* rows whose text and label occurred before */
    size_t conflicts;         /* rows whose text occurred before under another label */
    size_t conflict_row;      /* one of them, valid if conflicts > 0 */
    size_t conflict_with;     /* the row it disagrees with */
    size_t few;               /* classes with fewer than 5 rows */
    size_t skipped;           /* rows that skip_bad_rows left out */
    const char *skipped_why;  /* the first of these; lives as long as the data */
    bool swapped;             /* labels are longer and more varied than texts: it seems
                               * that the columns have changed places */
} rf_data_summary;

RF_API rf_status rf_dataset_summarize(const rf_dataset *data, rf_data_summary *out,
                                      rf_error *err);

/* Whether people use such a label for texts of no class: "oos", "Out-of-scope", "none".
 */
RF_API bool rf_label_means_open(const char *label);

/* ---- Limits ------------------------------------------------------------------------ */

#define RF_PATH_MAX 4096           /* bytes of a path, NUL included */
#define RF_MAX_VOCAB 1000000       /* entries of a vocabulary */
#define RF_MAX_POSITIONS 8192      /* tokens in one text that an encoder may take */
#define RF_MAX_THREADS 256         /* threads of one embedder */
#define RF_MAX_ROWS 1000000000     /* rows of a dataset */
#define RF_MAX_TEXT_BYTES 16777216 /* bytes of a text in a dataset: 16 MiB */
#define RF_MAX_LABEL_BYTES 1024    /* bytes of a label */
#define RF_MAX_FENCE 1e6f          /* offset of the fences of a session */

#ifdef __cplusplus
}
#endif

#endif /* RINGFENCE_H */
