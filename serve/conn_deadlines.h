/*
 * conn_deadlines.h - a time limit for every phase of every connection
 *
 *   IDLE ----> RECEIVING ----> WORKING ----> SENDING ----> IDLE ...
 *      first line     request done    answer ready   last byte
 *
 * A thread checks all connections ten times a second. A job past its deadline fails with
 * a problem, which is the answer; any other late connection is shut down. Deadlines are
 * absolute: a client gains nothing by sending or reading a byte now and then.
 * (libmicrohttpd's own timeout restarts with every byte.)
 */
#ifndef RF_SERVE_CONN_DEADLINES_H
#define RF_SERVE_CONN_DEADLINES_H

#include "job.h"

typedef enum conn_phase {
    CONN_IDLE,
    CONN_RECEIVING,
    CONN_WORKING, /* on a job, or on something that cannot hang */
    CONN_SENDING,
} conn_phase;

typedef struct conn_limits {
    double idle, receive, send; /* seconds */
    size_t max_connections;
} conn_limits;

typedef struct conn_deadlines conn_deadlines;
typedef struct conn conn; /* a connection */

conn_deadlines *conn_deadlines_new(const conn_limits *limits, rf_error *err);
void conn_deadlines_free(conn_deadlines *d);

/* NULL if there is no memory. */
conn *conn_add(conn_deadlines *d, int fd);
void conn_remove(conn_deadlines *d, conn *c);

/* job: only with CONN_WORKING, may be NULL; must live until the next phase. */
void conn_enter(conn_deadlines *d, conn *c, conn_phase phase, job *j);

/* From now on idle connections are closed soon. */
void conn_deadlines_drain(conn_deadlines *d);
/* Fails all unfinished jobs, now and from now on, with this problem. */
void conn_deadlines_expire_jobs(conn_deadlines *d, const problem *why);

size_t conn_deadlines_count(conn_deadlines *d); /* connections */

#endif
