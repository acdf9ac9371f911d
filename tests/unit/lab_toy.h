/* lab_toy.h - a small data set on disk and quick settings, for tests of the lab */
#ifndef RF_TEST_LAB_TOY_H
#define RF_TEST_LAB_TOY_H

#include "base/error.h"
#include "lab/lab.h"
#include "lab/split.h"

#define TINY GOLDEN_DIR "/tiny/encoder"
#define CLASSES 6

#define QUICK                                                                            \
    "epochs=3 batch=8 known_rate=0.01 head_steps=8 head_negatives=16 neighbours=5 "

typedef struct place {
    char dir[RF_PATH_MAX], data[RF_PATH_MAX], out[RF_PATH_MAX], open[RF_PATH_MAX];
} place;

/* DIR/data/toy with CLASSES classes, some open texts, and a name for results; removed
 * with scratch_remove(p->dir). */
void place_make(place *p);

/* All methods on that set, half of the classes known, with QUICK settings. */
rf_lab_options quick(const place *p);

/* "train.tsv", and some of its rows; freed with rf_dataset_free. */
rf_dataset *read_part(const place *p, const char *name);
rf_dataset *choose(const rf_dataset *from, const rf_split_rows *rows);

#endif
