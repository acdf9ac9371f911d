/*
 * job.h - the texts of one request, and their answers
 *
 * A job is referenced by its connection and by each text that has no answer yet; the last
 * reference frees it. Workers finish texts in any order. A connection that waits for the
 * job is suspended, and resumed when there is something to send.
 */
#ifndef RF_SERVE_JOB_H
#define RF_SERVE_JOB_H

#include "base/json.h"
#include "problem.h"

#include <pthread.h>
#include <stdatomic.h>

struct MHD_Connection;

/* What requests and answers take in memory, all together. A single job gets a quarter. */
typedef struct held {
    atomic_size_t bytes;
    size_t most;
} held;

typedef struct job_text {
    const char *bytes; /* in the job's body or JSON */
    size_t len;
    char *answer; /* JSON; NULL: not there yet */
    size_t answer_len;
} job_text;

typedef struct job {
    /* The request; fixed once the job is queued. */
    char *body;
    json_t **json; /* [n_json] own the texts of a JSON request */
    size_t n_json;
    job_text *texts; /* [n] */
    size_t n;
    rf_answer_options options;
    float fence;        /* added to every margin */
    size_t deadline_ms; /* 0: the server's */
    bool stream;        /* answered in lines, as they come */
    bool single;        /* answered with one object, not with a list */
    bool no_store;      /* its texts are not to be kept */
    bool keep_sent;     /* keep the lines of a stream that are sent */
    double deadline;    /* by rf_clock_seconds */
    held *held;         /* may be NULL */

    /* Owned by the queue, under its lock. */
    struct job *next;
    size_t taken; /* texts that workers have taken */

    pthread_mutex_t lock; /* for all below */
    size_t refs;          /* the connection, and each unfinished text */
    size_t unfinished;    /* texts without an answer */
    bool over;            /* no more answers are wanted */
    size_t bytes;         /* of the answers in memory */
    problem failure;      /* of the first text that failed, or of the whole job */
    struct MHD_Connection *waiting; /* suspended until there is something to send */

    /* Streams: what has been sent. */
    size_t sent, sent_bytes;
} job;

/* With the reference of the connection; NULL if there is no memory. Without `all`,
 * answers may be as large as they like. */
job *job_new(held *all);

/* Drops the reference of the connection: the answers are not wanted any more. Accepts
 * NULL. */
void job_detach(job *j);

/* A reference for anybody else. */
void job_ref(job *j);
void job_unref(job *j);

/* Adds the references of the texts, before the job is queued. */
void job_begin(job *j);

/* Takes over the answer to text i; if it is NULL, failure says why. If the answers take
 * too much memory, the job fails, and they are freed. Drops the text's reference. */
void job_finish(job *j, size_t i, char *answer, size_t len, const problem *failure);

/* Drops the references of n texts that will not be answered because the job is over. */
void job_drop(job *j, size_t n);

/* Fails the job, unless all answers are there. */
void job_expire(job *j, const problem *failure);

/* Frees the answers: a reply has been made of them. */
void job_drop_answers(job *j);

/* Does every text have its answer? */
bool job_is_done(job *j);

/* True if all answers are there, or the job has failed (*failure says why). Else suspends
 * the connection, unless it is NULL, until that is so. */
bool job_ready(job *j, struct MHD_Connection *connection, problem *failure);

/* Streams: copies up to room bytes of lines. 0: nothing yet, the connection has been
 * suspended. */
#define JOB_END (-1L) /* all has been read */
long job_read(job *j, char *out, size_t room, struct MHD_Connection *connection);

#endif
