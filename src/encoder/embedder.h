/*
 * embedder.h - what other modules use of an embedder beyond ringfence.h
 *
 * A sink may compute with the embedder's own threads: they are idle while it runs, and a
 * second set of threads would compete with them for the CPUs.
 */
#ifndef RF_ENCODER_EMBEDDER_H
#define RF_ENCODER_EMBEDDER_H

#include "base/team.h"
#include "ringfence_encoder.h"

/* Its threads; idle while the sink runs and between calls. */
rf_team *rf_embedder_team(rf_embedder *m);

/* Reads words that the vocabulary lacks as `spelling` says (text/spelling.h), which must
 * outlive m; NULL: as they are. */
struct rf_spelling;
void rf_embedder_set_spelling(rf_embedder *m, const struct rf_spelling *spelling);

/* A text is half fed. */
bool rf_embedder_in_text(const rf_embedder *m);

/* Features [n, width] of the next n texts, n > 0; valid until the embedder's next call.
 */
typedef rf_status (*rf_block_sink)(void *user, const float *features, size_t n,
                                   rf_error *err);

/* Delivers whole blocks instead of one feature at a time. */
void rf_embedder_set_block_sink(rf_embedder *m, rf_block_sink sink, void *user);

#endif
