/*
 * streams.h - the random streams of this tree, one row each
 *
 * The key of a stream (rng.h) has a word that names it and two indices. The word is the
 * first or the second of the three:
 *
 *   FIRST   key(seed, word, i, j)
 *   STEP    key(seed, i, word, j)    i counts steps or epochs
 *   LABEL   key(seed, i, word, j)    i is the key of a label, a hash
 *
 * A word is part of every result that its stream enters: changing one changes models. A
 * new stream takes the next free multiple of 2^40, which no count of steps reaches. Equal
 * words are harmless in different places, and in two methods: a training has one method.
 * docs/MODEL.md, "Random numbers", has the same list; a test compares the two.
 */
#ifndef RF_BASE_STREAMS_H
#define RF_BASE_STREAMS_H

#include <stdint.h>

#define RF_STREAM_2_40(n) (UINT64_C(n) << 40)

/* ROW(name, place, word, the objective that alone uses it, or NULL) */
#define RF_STREAM_LIST(ROW)                                                              \
    /* any training */                                                                   \
    ROW(HELD_OUT, LABEL, RF_STREAM_2_40(2), NULL)                                        \
    ROW(CLASSIFIER, FIRST, RF_STREAM_2_40(3), NULL) /* a seed: of the two below */       \
    ROW(CLASSIFIER_DENSE, FIRST, 1, NULL)           /* row, column */                    \
    ROW(CLASSIFIER_OUT, FIRST, 2, NULL)                                                  \
    ROW(TEXT_ORDER, STEP, RF_STREAM_2_40(1), NULL) /* i: epoch */                        \
    /* dropout of stage 1; to the word is added layer * 2^8 + head * 2^32 */             \
    ROW(DROP_ATTENTION, STEP, 0, NULL) /* probabilities of one head and query */         \
    ROW(DROP_MIXED, STEP, 1, NULL)     /* a token after attention's dense layer */       \
    ROW(DROP_FED, STEP, 2, NULL)       /* a token after the feed-forward part */         \
    ROW(DROP_HIDDEN, STEP, 3, NULL)    /* the classifier's hidden vector */              \
    /* a head of ANS; j: pass over the rows, or step */                                  \
    ROW(ANS_WEIGHTS, LABEL, 1, NULL)                                                     \
    ROW(ANS_OWN_ORDER, LABEL, 2, NULL)  /* of the class's rows */                        \
    ROW(ANS_REST_ORDER, LABEL, 3, NULL) /* of the other rows */                          \
    ROW(ANS_NOISE, LABEL, 4, NULL)                                                       \
    ROW(ANS_DROP_1, LABEL, 5, NULL)                                                      \
    ROW(ANS_DROP_2, LABEL, 6, NULL)                                                      \
    ROW(ANS_OWN_NOISE, LABEL, 7, NULL)                                                   \
    /* folds, budgets and maps */                                                        \
    ROW(FOLDS, FIRST, RF_STREAM_2_40(5), NULL)  /* partition, attempt */                 \
    ROW(BUDGET, FIRST, RF_STREAM_2_40(6), NULL) /* which rate */                         \
    ROW(CROSS_FIT, FIRST, RF_STREAM_2_40(10), NULL)                                      \
    ROW(FENCE_ROWS, FIRST, RF_STREAM_2_40(12), NULL) /* 0: folds, 1: intervals */        \
    ROW(MAP_ROWS, LABEL, RF_STREAM_2_40(8), NULL)                                        \
    ROW(MAP_CLASSES, FIRST, RF_STREAM_2_40(8), NULL)                                     \
    ROW(TSNE_START, FIRST, 70, NULL)                                                     \
    ROW(TSNE_JITTER, FIRST, 71, NULL)                                                    \
    ROW(REPORT_SAMPLE, FIRST, 72, NULL)                                                  \
    ROW(CHECK_CLOUDS, FIRST, RF_STREAM_2_40(13), NULL) /* class, number */               \
    /* methods to compare with */                                                        \
    ROW(ADB_RADII, FIRST, 0xadb1, NULL)                                                  \
    ROW(ADB_ORDER, FIRST, 0xadb2, NULL)   /* epoch */                                    \
    ROW(ADB_DROPOUT, FIRST, 0xadb3, NULL) /* epoch, row */                               \
    ROW(CONVEX_POINTS, STEP, RF_STREAM_2_40(2), "convex")                                \
    ROW(CONVEX_DEV, FIRST, RF_STREAM_2_40(4), "convex")                                  \
    ROW(OPEN_TEXTS, FIRST, RF_STREAM_2_40(9), "convex") /* of selfsup */                 \
    ROW(DOC_LOGITS, STEP, RF_STREAM_2_40(2), "doc")                                      \
    ROW(NEGATIVE_NOISE, STEP, RF_STREAM_2_40(2), "negatives")                            \
    ROW(KNNCL_POSITIVES, STEP, RF_STREAM_2_40(2), "knncl")                               \
    ROW(KNNCL_HEAD, FIRST, 11, "knncl") /* a seed, as CLASSIFIER */                      \
    /* the lab */                                                                        \
    ROW(LAB_FEW_ROWS, FIRST, 0x666577, NULL)              /* class */                    \
    ROW(LAB_UNEVEN_ROWS, FIRST, RF_STREAM_2_40(11), NULL) /* class */                    \
    ROW(LAB_CLUSTERS, FIRST, RF_STREAM_2_40(14), NULL)    /* start of k-means */         \
    ROW(LAB_NEGATIVES, LABEL, RF_STREAM_2_40(7), NULL)

typedef enum rf_stream {
#define RF_STREAM_NAME(name, place, word, objective) RF_STREAM_##name,
    RF_STREAM_LIST(RF_STREAM_NAME)
#undef RF_STREAM_NAME
        RF_STREAMS
} rf_stream;

typedef enum rf_key_place {
    RF_KEY_FIRST,
    RF_KEY_STEP,
    RF_KEY_LABEL,
} rf_key_place;

typedef struct rf_stream_row {
    const char *name;
    rf_key_place place;
    uint64_t word;
    const char *objective;
} rf_stream_row;

extern const rf_stream_row rf_stream_table[RF_STREAMS];

/* i and j as the stream's row says, else 0. */
uint64_t rf_stream_key(uint64_t seed, rf_stream stream, uint64_t i, uint64_t j);

#endif
