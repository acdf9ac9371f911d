/*
 * model_history.h - the models before the one in service, for undo
 *
 * Files beside MODEL: MODEL.before is the last one, then MODEL.before.2 up to
 * MODEL.before.5, each written as a whole. There may be gaps: an undo removes its file,
 * and a crash can leave one. Their order counts.
 */
#ifndef RF_SERVE_MODEL_HISTORY_H
#define RF_SERVE_MODEL_HISTORY_H

#include "base/buffer.h"

#define HISTORY_STEPS 5

/* How many models there are to go back to. */
size_t model_history_steps(const char *model);

/* Adds the bytes of a model as the last one; the sixth is forgotten. */
rf_status model_history_add(const char *model, const rf_buffer *bytes, rf_error *err);

/* Reads the last one into an initialised buffer. RF_ERR_MISSING if there is none. */
rf_status model_history_read(const char *model, rf_buffer *out, rf_error *err);
void model_history_drop(const char *model); /* removes the last one */

/* Removes the last ones that are the model in service: a change that failed or was cut
 * short has left them. */
void model_history_tidy(const char *model, const rf_buffer *in_service);

/* Writes a file as a whole or not at all. */
rf_status model_file_write(const char *path, const rf_buffer *bytes, rf_error *err);

#endif
