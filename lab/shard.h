/* shard.h - the part of a plan that one of several machines carries out */
#ifndef RF_LAB_SHARD_H
#define RF_LAB_SHARD_H

#include "lab/plan.h"

/* Do two runs have the same stage 1? */
bool rf_planned_share(const rf_planned *p, const rf_planned *q);

/* Keeps the runs of shard "I/N", I from 1 to N; NULL keeps all. Runs that share stage 1
 * are in one shard, so none is trained twice; every run is in exactly one. RF_ERR_ARG for
 * other texts. */
rf_status rf_plan_shard(rf_plan *plan, const char *shard, rf_error *err);

#endif
