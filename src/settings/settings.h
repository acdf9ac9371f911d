/*
 * settings.h - the settings of a training, and the table that describes them
 *
 * A setting is a field of rf_settings and a row of the table in settings.c. Options of
 * the program, help, man pages, range checks, model files, checkpoints, settings files
 * and the lab's variants all come from the row; nothing else lists settings.
 */
#ifndef RF_SETTINGS_SETTINGS_H
#define RF_SETTINGS_SETTINGS_H

#include "base/json.h"

typedef struct rf_settings {
    /* Stage 1: the upper layers and the classifier of known classes */
    size_t train_layers; /* 0: the encoder is frozen */
    size_t epochs, batch, patience;
    float encoder_rate, known_rate;
    float weight_decay; /* of matrices */
    float warmup;       /* share of all steps */
    float dropout;
    bool spelling; /* the model learns the words of its texts (text/spelling.h) */
    float blend;   /* the tuned layers become first + blend (tuned - first) */

    /* Stage 2 of ANS: one head per class */
    size_t head_steps;      /* at the full rate */
    size_t head_max_steps;  /* limit of the extension by target_recall */
    size_t head_cool_steps; /* after them, the rate falling linearly towards 0 */
    size_t head_positives; /* texts of the class per step; each gives a synthetic point */
    size_t head_negatives; /* texts of other classes per step; all if they are fewer */
    float head_rate, head_dropout;
    float lambda;          /* weight of synthetic points; 0: plain one-versus-rest */
    float negative_weight; /* of other classes' texts. If 0 when a head is trained: as if
                            * each step saw all of them (paper, equation 2), rest / own *
                            * positives / negatives */
    float rho;             /* radius as a multiple of the class's average distance */
    float radius;        /* above 0: the same for every class, in units of the features */
    float gamma;         /* outer radius of the shell by inner radius */
    float target_recall; /* while fewer of the class's own texts are accepted, train for
                          * another quarter of head_steps, up to head_max_steps */
    bool noise;          /* start from N(0, 4 variance); else from a random direction
                          * of length radius / 1000: 0 could not be projected */
    bool projection;     /* into the shell */
    size_t ascent_steps; /* 0: none */
    float ascent_rate;   /* length of an ascent step by radius */
    float positive_noise; /* noise added to the class's texts, in standard deviations, so
                           * that few texts cover the region around them. Not used without
                           * synthetic points */
    float open_share;     /* of the texts in use; folds place the fence for it */
    float fence_reject;   /* share of the dev texts that heads may reject; 1: any */
    float fence_offset;   /* added to every margin at the end */

    /* Baseline methods; each reads its own */
    size_t neighbours;
    float contamination, quantile, threshold, doc_alpha;
    size_t tail, ranks; /* of OpenMax */
    size_t boundary_epochs;
    float boundary_rate;
    float cosine_scale, cosine_margin;
    float temperature;
    size_t queue, top; /* of KNNCL */
    float momentum, contrast_weight;
    size_t neg_ascent_steps; /* synthetic negatives of msp-neg and adb-neg */
    float neg_ascent_rate, neg_rho, neg_gamma, neg_radius;
    bool textoir; /* do as TEXTOIR does where it differs from the papers */
} rf_settings;

typedef struct rf_setting_row {
    rf_setting info; /* the public part */
    size_t offset;   /* in rf_settings */
    /* Section in model files, checkpoints and runs: {"known": {"epochs": ...}}. */
    const char *section;
    const char *key; /* NULL: its name */
    int tuned;       /* position in a settings file, from 1; 0: not chosen by tuning */
    /* For the lab: additional names of variants, separated by spaces. Several rows may
     * share one; the fields below are then taken from the first. */
    const char *sweep;
    const char *values; /* default values of a sweep, or NULL */
    const char *title;  /* of a chart, or NULL */
    const char *axis;   /* label of its x axis, or NULL */
} rf_setting_row;

const rf_setting_row *rf_setting_rows(size_t *n); /* all of them, in the order of files */

/* The row of this name; NULL if there is none. */
const rf_setting_row *rf_setting_find(const char *name, size_t len);
/* Whether a variant's name means this row: its own name or one of `sweep`. */
bool rf_setting_answers(const rf_setting_row *row, const char *name, size_t len);
const char *rf_setting_key(const rf_setting_row *row);

rf_settings rf_settings_default(void);

/* A value as a number; a flag is 0 or 1. */
double rf_setting_get(const rf_settings *s, const rf_setting_row *row);
/* In range, and whole where it must be; the value that stands for "auto" always fits, a
 * NaN never. */
bool rf_setting_fits(const rf_setting_row *row, double value);
/* RF_ERR_ARG for a value that does not fit; the message calls the setting `as`: "rho",
 * "--rho". */
rf_status rf_setting_set(rf_settings *s, const rf_setting_row *row, double value,
                         const char *as, rf_error *err);
rf_status rf_setting_set_text(rf_settings *s, const rf_setting_row *row, const char *text,
                              const char *as, rf_error *err);

/* Checks that all values fit. */
rf_status rf_settings_check(const rf_settings *s, rf_error *err);

/* "rho=1.5 head_steps=300" applied on top of s; the last of two wins. text may be
 * NULL. On failure s is unchanged. */
rf_status rf_settings_parse(rf_settings *s, const char *text, rf_error *err);

/* One value; the settings of a section as an object; NULL without memory. */
json_t *rf_setting_json(const rf_settings *s, const rf_setting_row *row);
json_t *rf_settings_json(const rf_settings *s, const char *section);
/* Reads such objects, {"known": {...}, ...}; values that are missing, of another type
 * or out of range stay unchanged. */
void rf_settings_take_json(rf_settings *s, const json_t *sections);

#endif
