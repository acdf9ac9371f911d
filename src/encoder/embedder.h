/*
 * embedder.h - what other modules ask of an embedder beyond ringfence.h
 *
 * Who consumes features within the sink may compute with the embedder's own threads:
 * they are idle then, and a second set of threads would compete with them for the CPUs.
 */
#ifndef RF_ENCODER_EMBEDDER_H
#define RF_ENCODER_EMBEDDER_H

#include "base/team.h"

/* Its threads; idle while the sink runs and between calls. */
rf_team *rf_embedder_team(rf_embedder *m);

/* A text is half fed. */
bool rf_embedder_in_text(const rf_embedder *m);

/* Forget the texts not yet delivered, the one half fed included. */
void rf_embedder_drop(rf_embedder *m);

#endif
