/* model_read.h - read and check the parts of a model file; for model_load.c */
#ifndef RF_MODEL_MODEL_READ_H
#define RF_MODEL_MODEL_READ_H

#include "model/model.h"

typedef struct rf_model_reading {
    rf_model *m; /* has its labels and its encoder */
    const rf_container *file;
    const char *name; /* of the file */
    bool renamed;     /* the method has another name now */
    rf_error *err;    /* not NULL */
} rf_model_reading;

rf_status rf_model_read_known(rf_model_reading *l);
rf_status rf_model_read_state(rf_model_reading *l);    /* what the method learnt */
rf_status rf_model_read_classes(rf_model_reading *l);  /* statistics and radius */
rf_status rf_model_read_rows(rf_model_reading *l);     /* if stored */
rf_status rf_model_read_spelling(rf_model_reading *l); /* if stored */
rf_status rf_model_read_map(rf_model_reading *l);      /* if stored; after the rows */

#endif
