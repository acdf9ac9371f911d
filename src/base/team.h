/*
 * team.h - a fixed set of threads that run one function together
 *
 * Every member calls fn(arg, member, members); the caller is member 0 and returns when
 * all are done. Inside fn the members may meet at rf_team_barrier. fn divides the work,
 * in a way that never changes a result (the rule of bits).
 */
#ifndef RF_BASE_TEAM_H
#define RF_BASE_TEAM_H

#include "base/error.h"

typedef struct rf_team rf_team;

/* CPUs that this process may use, at least 1. */
size_t rf_cpu_count(void);

/* threads includes the caller; 1 starts none. */
rf_team *rf_team_new(size_t threads, rf_error *err);
void rf_team_free(rf_team *team); /* accepts NULL */
size_t rf_team_size(const rf_team *team);

void rf_team_run(rf_team *team, void (*fn)(void *arg, size_t member, size_t members),
                 void *arg);

/* All members must call it; none continues before the last has arrived. */
void rf_team_barrier(rf_team *team);

#endif
