/*
 * job.h - the texts of one request on their way to their answers
 *
 * A job is shared by the connection that brought it and by each text that has no answer
 * yet; the last of them frees it. Workers finish texts in any order; whoever waits for
 * the job (a suspended connection) is woken when there is something new for it.
 */
#ifndef RF_SERVE_JOB_H
#define RF_SERVE_JOB_H

#include "base/json.h"
#include "problem.h"

#include <pthread.h>
#include <stdatomic.h>

struct MHD_Connection;

typedef struct job_text {
    const char *bytes; /* in the job's body or JSON */
    size_t len;
    char *answer; /* JSON; NULL: not there yet */
    size_t answer_len;
} job_text;

typedef struct job {
    /* What was asked; fixed once the job is queued. */
    char *body;
    json_t **json; /* [n_json] own the texts of a JSON request */
    size_t n_json;
    job_text *texts; /* [n] */
    size_t n;
    rf_answer_options options;
    size_t deadline_ms;  /* 0: the server's */
    bool stream;         /* answered in lines, as they come */
    bool single;         /* answered with one object, not with a list */
    double deadline;     /* by clock_now */
    atomic_size_t *held; /* bytes of answers in memory, of all jobs */

    /* Of the queue, under its lock */
    struct job *next;
    size_t taken; /* texts that workers have, or had */

    pthread_mutex_t lock; /* for all below */
    size_t shares;        /* the connection's and one for each unfinished text */
    size_t unfinished;    /* texts without an answer */
    bool over;            /* nobody wants more answers: they can be left out */
    problem wrong;        /* of the first text that failed, or of the whole */
    struct MHD_Connection *waiting; /* suspended until there is something new */

    /* Of a stream: what was sent already. */
    size_t sent, sent_bytes;
} job;

/* With the share of the connection; NULL without memory. held may be NULL. */
job *job_new(atomic_size_t *held);

/* Gives back the share of the connection: nobody waits for answers any more. */
void job_leave(job *j);

/* One more share, for somebody who only looks at it, and back. */
void job_lend(job *j);
void job_return(job *j);

/* Adds the shares of its texts, before it is queued. */
void job_begin(job *j);

/* The answer of text i, which becomes the job's; or, if answer is NULL, what went wrong
 * with it. Gives back the text's share. */
void job_finish(job *j, size_t i, char *answer, size_t len, const problem *wrong);

/* Gives back the shares of n texts that will not be answered: the job is over. */
void job_drop(job *j, size_t n);

/* Ends it with a problem, unless all answers are there. */
void job_expire(job *j, const problem *wrong);

/* Has every text its answer? */
bool job_is_done(job *j);

/* True if the answers are all there, or something is wrong (then *wrong says what); else
 * the connection, unless it is NULL, is suspended, to be resumed when that is so. */
bool job_ready(job *j, struct MHD_Connection *connection, problem *wrong);

/* Of a stream: up to room bytes of lines; 0: nothing yet, the connection was suspended.
 */
#define JOB_END (-1L) /* that was all */
long job_read(job *j, char *out, size_t room, struct MHD_Connection *connection);

#endif
