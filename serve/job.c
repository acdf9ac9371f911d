#include "job.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROBLEM 4096 /* bytes of a problem as JSON */

/* The answer when there is no memory even to say what went wrong; never freed. */
static char no_words[] =
    "{\"error\": {\"code\": \"out_of_memory\", \"message\": \"no memory "
    "for the answer\", \"pointer\": \"\"}}";

job *job_new(atomic_size_t *held)
{
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    pthread_mutex_init(&j->lock, NULL);
    j->shares = 1;
    j->held = held;
    return j;
}

static void job_free(job *j)
{
    size_t bytes = 0;
    for (size_t i = 0; j->texts && i < j->n; i++)
        if (j->texts[i].answer != no_words) {
            bytes += j->texts[i].answer_len;
            free(j->texts[i].answer);
        }
    if (j->held)
        atomic_fetch_sub(j->held, bytes);
    for (size_t i = 0; i < j->n_json; i++)
        json_decref(j->json[i]);
    free(j->json);
    free(j->texts);
    free(j->body);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

/* Called with the lock held; lets go of it. */
static void give_back(job *j, size_t shares)
{
    j->shares -= shares;
    bool last = j->shares == 0;
    pthread_mutex_unlock(&j->lock);
    if (last)
        job_free(j);
}

void job_leave(job *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    j->over = true;
    j->waiting = NULL;
    give_back(j, 1);
}

void job_lend(job *j)
{
    pthread_mutex_lock(&j->lock);
    j->shares++;
    pthread_mutex_unlock(&j->lock);
}

void job_return(job *j)
{
    pthread_mutex_lock(&j->lock);
    give_back(j, 1);
}

void job_begin(job *j)
{
    pthread_mutex_lock(&j->lock);
    j->shares += j->n;
    j->unfinished = j->n;
    pthread_mutex_unlock(&j->lock);
}

/* ---- Waiting and waking, with the lock held ---------------------------------------- */

/* Is there something that can be sent? */
static bool has_news(const job *j)
{
    if (!j->stream)
        return j->unfinished == 0 || j->wrong.status;
    return j->sent == j->n || j->texts[j->sent].answer;
}

static void wake(job *j)
{
    if (j->waiting && has_news(j)) {
        struct MHD_Connection *c = j->waiting;
        j->waiting = NULL;
        MHD_resume_connection(c);
    }
}

static bool wait_for_news(job *j, struct MHD_Connection *connection)
{
    if (has_news(j))
        return false;
    if (!connection)
        return true;
    j->waiting = connection;
    MHD_suspend_connection(connection);
    return true;
}

bool job_ready(job *j, struct MHD_Connection *connection, problem *wrong)
{
    pthread_mutex_lock(&j->lock);
    bool waits = wait_for_news(j, connection);
    *wrong = j->wrong;
    pthread_mutex_unlock(&j->lock);
    return !waits;
}

bool job_is_done(job *j)
{
    pthread_mutex_lock(&j->lock);
    bool done = j->unfinished == 0;
    pthread_mutex_unlock(&j->lock);
    return done;
}

/* ---- Finishing --------------------------------------------------------------------- */

static void keep_answer(job *j, size_t i, char *answer, size_t len)
{
    j->texts[i].answer = answer;
    j->texts[i].answer_len = len;
    if (j->held)
        atomic_fetch_add(j->held, len);
}

/* In a stream the problem stands in the place of the answer. */
static void keep_problem(job *j, size_t i, const problem *wrong)
{
    if (j->wrong.status == 0)
        j->wrong = *wrong;
    if (!j->stream)
        return;
    rf_text t;
    rf_text_init(&t, MAX_PROBLEM, "a problem");
    problem_write(wrong, &t);
    if (t.status != RF_OK)
        rf_text_release(&t);
    if (t.status == RF_OK)
        keep_answer(j, i, t.buffer.data, t.buffer.len);
    else { /* a worker may be reading the text itself */
        j->texts[i].answer = no_words;
        j->texts[i].answer_len = sizeof no_words - 1;
    }
}

void job_finish(job *j, size_t i, char *answer, size_t len, const problem *wrong)
{
    pthread_mutex_lock(&j->lock);
    if (j->texts[i].answer) { /* it expired in the meantime */
        free(answer);
    } else if (answer) {
        keep_answer(j, i, answer, len);
    } else {
        keep_problem(j, i, wrong);
    }
    j->unfinished--;
    wake(j);
    give_back(j, 1);
}

void job_drop(job *j, size_t n)
{
    pthread_mutex_lock(&j->lock);
    j->unfinished -= n;
    give_back(j, n);
}

void job_expire(job *j, const problem *wrong)
{
    pthread_mutex_lock(&j->lock);
    if (j->unfinished > 0) {
        for (size_t i = 0; j->stream && i < j->n; i++)
            if (!j->texts[i].answer)
                keep_problem(j, i, wrong);
        if (j->wrong.status == 0)
            j->wrong = *wrong;
        j->over = true;
        wake(j);
    }
    pthread_mutex_unlock(&j->lock);
}

/* ---- A stream ---------------------------------------------------------------------- */

/* Copies what is there; the line ends after its answer. */
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
        wait_for_news(j, connection);
    pthread_mutex_unlock(&j->lock);
    return result;
}
