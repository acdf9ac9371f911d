/* config.h - the numbers of config.json that a BERT encoder needs */
#ifndef RF_ENCODER_CONFIG_H
#define RF_ENCODER_CONFIG_H

#include "base/error.h"

#define RF_MAX_CONFIG ((size_t)4 << 20) /* bytes of config.json */

typedef struct rf_config {
    size_t layers, width, heads, inner;
    size_t vocab_size, positions, types;
    float eps;       /* of LayerNorm */
    char prefix[64]; /* before every text, "query: "; usually empty */
} rf_config;

/* Reads dir/config.json. Refuses anything that is not plain BERT: another model_type,
 * activation or position embedding. */
rf_status rf_config_load(rf_config *c, const char *dir, rf_error *err);
rf_status rf_config_parse(rf_config *c, const char *json, size_t len, const char *name,
                          rf_error *err);

#endif
