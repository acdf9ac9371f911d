/*
 * keeper.h - no connection may take longer than it is allowed to
 *
 * Every connection is in a phase with an end. The keeper, a thread, looks at all of them
 * ten times a second: a job whose time is over gets its problem, any other connection is
 * shut down. Ends are absolute, so a client that sends or reads a byte now and then gains
 * nothing by it. (The library's own timeout starts anew with every byte.)
 *
 *   IDLE ----> RECEIVING ----> WORKING ----> SENDING ----> IDLE ...
 *        line           request         answer       last byte
 */
#ifndef RF_SERVE_KEEPER_H
#define RF_SERVE_KEEPER_H

#include "job.h"

typedef enum phase {
    PHASE_IDLE,
    PHASE_RECEIVING,
    PHASE_WORKING, /* for a job, or for something that ends by itself */
    PHASE_SENDING,
} phase;

typedef struct keeper_limits {
    double idle, receive, send; /* seconds */
    size_t max_connections;
} keeper_limits;

typedef struct keeper keeper;
typedef struct kept kept; /* a connection */

keeper *keeper_new(const keeper_limits *limits, rf_error *err);
void keeper_free(keeper *k);

/* NULL without memory. */
kept *keeper_add(keeper *k, int fd);
void keeper_remove(keeper *k, kept *c);

/* job: of PHASE_WORKING, may be NULL; it must live until the next phase. */
void keeper_enter(keeper *k, kept *c, phase to, job *j);

/* From now on idle connections are closed after a short while. */
void keeper_drain(keeper *k);
/* Ends all jobs with a problem, which is answered. */
void keeper_expire_jobs(keeper *k, const problem *why);

size_t keeper_connections(keeper *k);

#endif
