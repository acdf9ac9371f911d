#include "report/lab_settings.h"

#include <stddef.h>

typedef struct entry {
    const char *part, *name;
    bool whole; /* size_t, else float */
    size_t offset;
} entry;

#define WHOLE(part, name, field)                                                         \
    {                                                                                    \
        part, name, true, offsetof(rf_train_options, field)                              \
    }
#define REAL(part, name, field)                                                          \
    {                                                                                    \
        part, name, false, offsetof(rf_train_options, field)                             \
    }

static const entry entries[] = {
    WHOLE("known", "train_layers", train_layers),
    WHOLE("known", "epochs", epochs),
    WHOLE("known", "batch", batch),
    WHOLE("known", "patience", patience),
    REAL("known", "encoder_rate", encoder_rate),
    REAL("known", "known_rate", known_rate),
    REAL("known", "weight_decay", weight_decay),
    REAL("known", "warmup", warmup),
    REAL("known", "dropout", dropout),
    REAL("known", "blend", blend),
    WHOLE("open", "steps", head_steps),
    WHOLE("open", "positives", head_positives),
    WHOLE("open", "negatives", head_negatives),
    REAL("open", "rate", head_rate),
    REAL("open", "dropout", head_dropout),
    REAL("open", "negative_weight", negative_weight),
    REAL("open", "lambda", lambda),
    REAL("open", "rho", rho),
    REAL("open", "radius", radius),
    REAL("open", "gamma", gamma),
    WHOLE("open", "ascent_steps", ascent_steps),
    REAL("open", "ascent_rate", ascent_rate),
    REAL("open", "positive_noise", positive_noise),
    REAL("open", "fence_reject", fence_reject),
    REAL("open", "fence_offset", fence_offset),
};

static void take(const json_t *value, const entry *e, rf_train_options *o)
{
    char *at = (char *)o + e->offset;
    if (e->whole && json_is_integer(value) && json_integer_value(value) >= 0)
        *(size_t *)(void *)at = (size_t)json_integer_value(value);
    if (!e->whole && json_is_number(value))
        *(float *)(void *)at = (float)json_number_value(value);
}

void rf_lab_settings(const json_t *settings, rf_lab_options *o)
{
    const json_t *open = json_object_get(settings, "open");
    const json_t *tokens = json_object_get(settings, "max_tokens");
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const json_t *part = json_object_get(settings, entries[i].part);
        take(json_object_get(part, entries[i].name), &entries[i], &o->train);
    }
    o->train.no_noise = json_is_false(json_object_get(open, "noise"));
    o->train.no_projection = json_is_false(json_object_get(open, "projection"));
    if (json_is_integer(tokens) && json_integer_value(tokens) > 0)
        o->max_tokens = (size_t)json_integer_value(tokens);
}
