/* lab_settings.h - what variants and sweeps can change, by the names of the lab */
#ifndef RF_LAB_LAB_SETTINGS_H
#define RF_LAB_LAB_SETTINGS_H

#include "lab/lab.h"
#include "lab/split.h"
#include "settings/settings.h"

/* What a sweep changes: a setting, or something about the split. */
typedef struct rf_lab_entry {
    rf_lab_sweep sweep;
    const rf_setting_row *row; /* NULL: none */
} rf_lab_entry;

/* Entry i, in the order of pages; false past the end. */
bool rf_lab_entry_at(size_t i, rf_lab_entry *out);
/* The first entry that answers to a name, and which one it is. */
bool rf_lab_entry_find(const char *name, size_t len, rf_lab_entry *out, size_t *i);

/* Changes settings and split as the text of a variant says: "radius=8". */
rf_status rf_variant_apply(const char *variant, rf_settings *s, rf_split_options *split,
                           rf_error *err);

/* "lognormal:10:0.9", a value of the variant "rows": a number of rows drawn for each
 * class (rf_split_options.rows_median). False if it is not one. */
bool rf_lab_lognormal(const char *value, double *median, double *spread);

#endif
