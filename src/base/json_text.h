/*
 * json_text.h - JSON written as text, without building a tree first
 *
 *   rf_text t;
 *   rf_text_init(&t, ceiling, "an answer");
 *   rf_text_put(&t, "{\"label\": ");
 *   rf_text_name(&t, label);
 *   rf_text_put(&t, "}");
 *   if (t.status != RF_OK) ...      // the first failure sticks: one check at the end
 */
#ifndef RF_BASE_JSON_TEXT_H
#define RF_BASE_JSON_TEXT_H

#include "base/buffer.h"

typedef void (*rf_json_sink)(void *user, const char *bytes, size_t len);

/* Any bytes as a JSON string, quotes included. Ill-formed UTF-8 becomes U+FFFD, one for
 * each maximal ill-formed part, as everywhere in the library (docs/MODEL.md, "Text"). */
void rf_json_escape(const char *bytes, size_t len, rf_json_sink put, void *user);

/* A growing text. After a failure nothing more is added. */
typedef struct rf_text {
    rf_buffer buffer;
    rf_status status;
} rf_text;

void rf_text_init(rf_text *t, size_t ceiling, const char *what);
void rf_text_release(rf_text *t);

void rf_text_add(rf_text *t, const char *bytes, size_t len);
void rf_text_put(rf_text *t, const char *words); /* as they are */
void rf_text_format(rf_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* up to 500 bytes */
/* As JSON strings. */
void rf_text_string(rf_text *t, const char *bytes, size_t len);
void rf_text_name(rf_text *t, const char *name);
/* A number that reads back to the same bits; null if it is not finite. */
void rf_text_float(rf_text *t, float v);

#endif
