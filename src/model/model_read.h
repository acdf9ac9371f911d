/* model_read.h - the parts of a model file, each read and checked; for model_load.c */
#ifndef RF_MODEL_MODEL_READ_H
#define RF_MODEL_MODEL_READ_H

#include "model/model.h"

typedef struct rf_model_reading {
    rf_model *m; /* has its labels and its encoder */
    const rf_container *file;
    const char *name; /* of the file */
    rf_error *err;    /* not NULL */
} rf_model_reading;

rf_status rf_model_take_known(rf_model_reading *l);
rf_status rf_model_take_heads(rf_model_reading *l);
rf_status rf_model_take_fence(rf_model_reading *l);   /* of a method without heads */
rf_status rf_model_take_classes(rf_model_reading *l); /* statistics and radius */
rf_status rf_model_take_rows(rf_model_reading *l);    /* if they were kept */
rf_status rf_model_take_map(rf_model_reading *l); /* if there is one; after the rows */

#endif
