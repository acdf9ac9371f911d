/* job.c - references to a job, its answers, and the connection that waits for them */
#include "job.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROBLEM 4096 /* bytes of a problem as JSON */

/* The answer if there is no memory even for an error message; never freed. */
static char no_memory_answer[] =
    "{\"error\": {\"code\": \"out_of_memory\", \"message\": \"no memory "
    "for the answer\", \"pointer\": \"\"}}";

job *job_new(held *all)
{
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    pthread_mutex_init(&j->lock, NULL);
    j->refs = 1;
    j->held = all;
    return j;
}

/* ---- Answers in memory ------------------------------------------------------------- */

static void keep_answer(job *j, size_t i, char *answer, size_t len)
{
    j->texts[i].answer = answer;
    j->texts[i].answer_len = len;
    j->bytes += len;
    if (j->held)
        atomic_fetch_add(&j->held->bytes, len);
}

static void drop_answer(job *j, size_t i)
{
    job_text *t = &j->texts[i];
    if (t->answer && t->answer != no_memory_answer) {
        j->bytes -= t->answer_len;
        if (j->held)
            atomic_fetch_sub(&j->held->bytes, t->answer_len);
        free(t->answer);
    }
    t->answer = NULL;
}

static void drop_answers(job *j)
{
    for (size_t i = 0; j->texts && i < j->n; i++)
        drop_answer(j, i);
}

/* Short requests can have long answers (explain, margins). */
static bool has_room(const job *j, size_t len, problem *p)
{
    if (!j->held)
        return true;
    if (j->bytes + len > j->held->most / 4)
        return problem_set(p, 413, "answer_too_large",
                           "the answers take more than %zu bytes, wanted fewer texts, or "
                           "less of explain, margins and top_k",
                           j->held->most / 4);
    if (atomic_load(&j->held->bytes) + len > j->held->most)
        return problem_memory_full(p);
    return true;
}

static void job_free(job *j)
{
    drop_answers(j);
    for (size_t i = 0; i < j->n_json; i++)
        json_decref(j->json[i]);
    free(j->json);
    free(j->texts);
    free(j->body);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

/* Called with the lock held; unlocks. */
static void drop_refs(job *j, size_t refs)
{
    j->refs -= refs;
    bool last = j->refs == 0;
    pthread_mutex_unlock(&j->lock);
    if (last)
        job_free(j);
}

void job_detach(job *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    j->over = true;
    j->waiting = NULL;
    drop_refs(j, 1);
}

void job_ref(job *j)
{
    pthread_mutex_lock(&j->lock);
    j->refs++;
    pthread_mutex_unlock(&j->lock);
}

void job_unref(job *j)
{
    pthread_mutex_lock(&j->lock);
    drop_refs(j, 1);
}

void job_begin(job *j)
{
    pthread_mutex_lock(&j->lock);
    j->refs += j->n;
    j->unfinished = j->n;
    pthread_mutex_unlock(&j->lock);
}

/* ---- Waiting, with the lock held --------------------------------------------------- */

/* Is there anything to send? */
static bool has_output(const job *j)
{
    if (!j->stream)
        return j->unfinished == 0 || j->failure.status;
    return j->sent == j->n || j->texts[j->sent].answer;
}

static void resume_if_ready(job *j)
{
    if (j->waiting && has_output(j)) {
        struct MHD_Connection *c = j->waiting;
        j->waiting = NULL;
        MHD_resume_connection(c);
    }
}

/* Suspends the connection if there is nothing to send yet; true in that case. */
static bool wait_for_output(job *j, struct MHD_Connection *connection)
{
    if (has_output(j))
        return false;
    if (!connection)
        return true;
    j->waiting = connection;
    MHD_suspend_connection(connection);
    return true;
}

bool job_ready(job *j, struct MHD_Connection *connection, problem *failure)
{
    pthread_mutex_lock(&j->lock);
    bool waiting = wait_for_output(j, connection);
    *failure = j->failure;
    pthread_mutex_unlock(&j->lock);
    return !waiting;
}

void job_drop_answers(job *j)
{
    pthread_mutex_lock(&j->lock);
    drop_answers(j);
    pthread_mutex_unlock(&j->lock);
}

bool job_is_done(job *j)
{
    pthread_mutex_lock(&j->lock);
    bool done = j->unfinished == 0;
    pthread_mutex_unlock(&j->lock);
    return done;
}

/* ---- Finishing --------------------------------------------------------------------- */

/* In a stream the problem takes the place of the answer. */
static void keep_problem(job *j, size_t i, const problem *failure)
{
    if (j->failure.status == 0)
        j->failure = *failure;
    if (!j->stream)
        return;
    rf_text t;
    rf_text_init(&t, MAX_PROBLEM, "a problem");
    problem_write(failure, &t);
    if (t.status != RF_OK)
        rf_text_release(&t);
    if (t.status == RF_OK)
        keep_answer(j, i, t.buffer.data, t.buffer.len);
    else {
        j->texts[i].answer = no_memory_answer;
        j->texts[i].answer_len = sizeof no_memory_answer - 1;
    }
}

/* Nothing more is wanted. What is there of a stream is still sent. */
static void end_early(job *j, const problem *failure)
{
    for (size_t i = 0; j->stream && i < j->n; i++)
        if (!j->texts[i].answer && i >= j->sent)
            keep_problem(j, i, failure);
    if (j->failure.status == 0)
        j->failure = *failure;
    if (!j->stream)
        drop_answers(j);
    j->over = true;
}

void job_finish(job *j, size_t i, char *answer, size_t len, const problem *failure)
{
    problem full = {0};
    pthread_mutex_lock(&j->lock);
    if (j->over) { /* expired in the meantime */
        free(answer);
    } else if (answer && has_room(j, len, &full)) {
        keep_answer(j, i, answer, len);
    } else if (answer) {
        free(answer);
        end_early(j, &full);
    } else {
        keep_problem(j, i, failure);
    }
    j->unfinished--;
    resume_if_ready(j);
    drop_refs(j, 1);
}

void job_drop(job *j, size_t n)
{
    pthread_mutex_lock(&j->lock);
    j->unfinished -= n;
    drop_refs(j, n);
}

void job_expire(job *j, const problem *failure)
{
    pthread_mutex_lock(&j->lock);
    if (j->unfinished > 0) {
        end_early(j, failure);
        resume_if_ready(j);
    }
    pthread_mutex_unlock(&j->lock);
}

/* ---- Streams ----------------------------------------------------------------------- */

/* Copies the answers that are there, in order, a line each. */
static size_t copy_lines(job *j, char *out, size_t room)
{
    size_t filled = 0;
    while (filled < room && j->sent < j->n && j->texts[j->sent].answer) {
        job_text *t = &j->texts[j->sent];
        size_t left = t->answer_len - j->sent_bytes;
        size_t n = left < room - filled ? left : room - filled;
        memcpy(out + filled, t->answer + j->sent_bytes, n);
        filled += n;
        j->sent_bytes += n;
        if (n == left && filled < room) {
            out[filled++] = '\n';
            if (!j->keep_sent)
                drop_answer(j, j->sent);
            j->sent++;
            j->sent_bytes = 0;
        }
    }
    return filled;
}

long job_read(job *j, char *out, size_t room, struct MHD_Connection *connection)
{
    pthread_mutex_lock(&j->lock);
    size_t n = copy_lines(j, out, room);
    long result = (long)n;
    if (j->sent == j->n && n == 0)
        result = JOB_END;
    else if (n == 0)
        wait_for_output(j, connection);
    pthread_mutex_unlock(&j->lock);
    return result;
}
