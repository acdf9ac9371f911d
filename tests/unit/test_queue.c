/*
 * test_queue.c - texts that wait for workers: order, fairness, limits, threads, and the
 * counts that are told to Prometheus
 */
#define _GNU_SOURCE /* unshare */
#include "log.h"
#include "metrics.h"
#include "queue.h"
#include "sandbox.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A job of n texts of len bytes. */
static job *job_of(size_t n, size_t len)
{
    job *j = job_new(NULL);
    assert_non_null(j);
    j->body = calloc(len + 1, 1);
    j->texts = calloc(n + 1, sizeof *j->texts);
    assert_true(j->body && j->texts);
    j->n = n;
    for (size_t i = 0; i < n; i++)
        j->texts[i] = (job_text){.bytes = j->body, .len = len};
    return j;
}

static void finish(const queue_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *answer = malloc(2);
        assert_non_null(answer);
        memcpy(answer, "1", 2);
        job_finish(items[i].job, items[i].text, answer, 1, NULL);
    }
}

static queue *new_queue(size_t capacity)
{
    queue *q = queue_new(capacity, NULL);
    assert_non_null(q);
    return q;
}

static void full_and_closed(void **state)
{
    (void)state;
    queue *q = new_queue(10);
    queue_item items[16];
    queue_view view = {0};
    job *a = job_of(6, 4), *b = job_of(5, 4), *c = job_of(4, 4), *d = job_of(1, 4);
    assert_int_equal(queue_add(q, a), QUEUE_ADDED);
    assert_int_equal(queue_add(q, b), QUEUE_FULL); /* all or none */
    assert_int_equal(queue_add(q, c), QUEUE_ADDED);
    assert_int_equal(queue_add(q, d), QUEUE_FULL);
    assert_int_equal(queue_waiting(q), 10);
    assert_int_equal(queue_take(q, items, 16, 1000, &view), 10);
    assert_false(view.closed);
    finish(items, 10);
    assert_int_equal(a->unfinished, 0);
    assert_int_equal(queue_add(q, b), QUEUE_ADDED); /* there is room again */
    queue_close(q);
    assert_int_equal(queue_add(q, d), QUEUE_CLOSED);
    assert_int_equal(queue_take(q, items, 16, 1000, &view), 5); /* is still answered */
    assert_false(view.closed);
    finish(items, 5);
    assert_int_equal(queue_take(q, items, 16, 1000, &view), 0);
    assert_true(view.closed);
    job_detach(a);
    job_detach(b);
    job_detach(c);
    job_detach(d);
    queue_free(q);
}

/* Finishes text i with an answer of len bytes. */
static void finish_with(job *j, size_t i, size_t len)
{
    char *answer = malloc(len + 1);
    assert_non_null(answer);
    memset(answer, '1', len);
    job_finish(j, i, answer, len, NULL);
}

static void answers_are_limited(void **state)
{
    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        held all = {.most = 400};
        job *a = job_of(4, 4), *b = job_of(2, 4);
        problem failure;
        char line[64];
        a->held = b->held = &all;
        a->stream = stream;
        job_begin(a);
        job_begin(b);
        finish_with(a, 0, 60);
        assert_int_equal(all.bytes, 60);
        if (stream) { /* what is sent does not count any more */
            assert_int_equal(job_read(a, line, sizeof line, NULL), 61);
            assert_int_equal(all.bytes, 0);
            finish_with(a, 1, 60);
        } else
            finish_with(a, 1, 40);
        assert_int_equal(a->failure.status, 0);
        finish_with(a, 2, 41); /* a quarter of all is too little for that */
        assert_int_equal(a->failure.status, 413);
        assert_string_equal(a->failure.code, "answer_too_large");
        assert_true(a->over);
        finish_with(a, 3, 1);
        if (!stream) {
            assert_true(job_ready(a, NULL, &failure));
            assert_int_equal(all.bytes, 0);
        } else /* a line each for the others */
            assert_true(a->texts[1].answer_len == 60 &&
                        strstr(a->texts[2].answer, "answer_too_large") &&
                        strstr(a->texts[3].answer, "answer_too_large"));
        size_t before = all.bytes;
        all.bytes += 390 - before;
        finish_with(b, 0, 10);
        finish_with(b, 1, 1);
        assert_int_equal(b->failure.status, 429);
        assert_int_equal(all.bytes, 390);
        all.bytes -= 390 - before;
        job_detach(a);
        job_detach(b);
        assert_int_equal(all.bytes, 0);
    }
}

/* Two tokens for the ends and one for four bytes. */
static void batches_keep_to_the_budget(void **state)
{
    (void)state;
    queue *q = new_queue(100);
    queue_item items[100];
    queue_view view = {0};
    job *a = job_of(30, 32), *big = job_of(2, 1000000);
    assert_int_equal(queue_add(q, a), QUEUE_ADDED);
    assert_int_equal(queue_take(q, items, 100, 45, &view), 5); /* 10 tokens each */
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(items[i].text, i);
    assert_int_equal(queue_take(q, items + 5, 3, 1000, &view), 3);
    assert_int_equal(items[5].text, 5);
    assert_int_equal(queue_take(q, items + 8, 92, 1000, &view), 22);
    assert_int_equal(queue_add(q, big), QUEUE_ADDED);
    assert_int_equal(queue_take(q, items + 30, 70, 45, &view), 1); /* at least one */
    assert_int_equal(queue_take(q, items + 31, 69, 45, &view), 1);
    finish(items, 32);
    assert_int_equal(queue_waiting(q), 0);
    job_detach(a);
    job_detach(big);
    queue_free(q);
}

/* A single text that comes after a thousand does not wait for all of them. */
static void a_small_job_is_not_starved(void **state)
{
    (void)state;
    queue *q = new_queue(2000);
    queue_item items[2000];
    queue_view view = {0};
    size_t n = 0, at = 0;
    job *many = job_of(1000, 4), *one = job_of(1, 4);
    assert_int_equal(queue_add(q, many), QUEUE_ADDED);
    assert_int_equal(queue_add(q, one), QUEUE_ADDED);
    while (queue_waiting(q) > 0)
        n += queue_take(q, items + n, 64, 1000000, &view);
    assert_int_equal(n, 1001);
    size_t next = 0;
    for (size_t i = 0; i < n; i++)
        if (items[i].job == one)
            at = i;
        else
            assert_int_equal(items[i].text, next++);
    assert_in_range(at, 1, 64); /* in the first batch */
    finish(items, n);
    job_detach(many);
    job_detach(one);
    queue_free(q);
}

/* Nobody wants the answers any more: no worker sees the texts. */
static void a_job_that_is_over_is_left_out(void **state)
{
    (void)state;
    queue *q = new_queue(100);
    queue_item items[100];
    queue_view view = {0};
    problem late = {0};
    job *gone = job_of(50, 4), *here = job_of(2, 4), *expired = job_of(3, 4);
    problem_set(&late, 504, "deadline_exceeded", "late");
    assert_int_equal(queue_add(q, gone), QUEUE_ADDED);
    assert_int_equal(queue_add(q, expired), QUEUE_ADDED);
    assert_int_equal(queue_add(q, here), QUEUE_ADDED);
    job_detach(gone); /* freed by the queue */
    job_expire(expired, &late);
    assert_int_equal(expired->failure.status, 504);
    size_t n = queue_take(q, items, 100, 1000, &view);
    assert_int_equal(n, 2);
    assert_ptr_equal(items[0].job, here);
    assert_int_equal(queue_waiting(q), 0);
    finish(items, n);
    job_detach(here);
    job_detach(expired);
    queue_free(q);
}

/* A stream ends whole: every text has an answer or its problem, in its place. */
static void streams_in_order(void **state)
{
    (void)state;
    queue *q = new_queue(100);
    queue_item items[4];
    queue_view view = {0};
    char out[2000];
    problem late = {0};
    job *j = job_of(4, 4);
    j->stream = true;
    problem_set(&late, 504, "deadline_exceeded", "late");
    assert_int_equal(queue_add(q, j), QUEUE_ADDED);
    assert_int_equal(queue_take(q, items, 4, 1000, &view), 4);
    finish(items + 0, 1);
    finish(items + 2, 1);
    assert_int_equal(job_read(j, out, 1, NULL), 1); /* the line, then its end */
    assert_int_equal(job_read(j, out + 1, sizeof out, NULL), 1);
    assert_memory_equal(out, "1\n", 2);
    job_expire(j, &late);
    long n = job_read(j, out, sizeof out - 1, NULL);
    assert_true(n > 0);
    out[n] = '\0';
    assert_memory_equal(out, "{\"error\": ", 10);
    assert_non_null(strstr(out, "}}\n1\n{\"error\": "));
    assert_int_equal(job_read(j, out, sizeof out, NULL), JOB_END);
    finish(items + 1, 1); /* too late: dropped */
    finish(items + 3, 1);
    job_detach(j);
    queue_free(q);
}

/* ---- Threads ----------------------------------------------------------------------- */

typedef struct taker {
    queue *q;
    pthread_t thread;
    size_t taken, batches;
} taker;

static void *take_all(void *arg)
{
    taker *t = arg;
    queue_item items[64];
    for (queue_view view = {0}; !view.closed;) {
        size_t n = queue_take(t->q, items, 64, 300, &view);
        finish(items, n);
        t->taken += n;
        t->batches += n > 0;
    }
    return NULL;
}

/* Three workers, three thousand jobs, pokes in between: each text is taken once. */
static void every_text_is_taken_once(void **state)
{
    (void)state;
    enum { JOBS = 3000, WORKERS = 3 };
    queue *q = new_queue(SIZE_MAX);
    taker takers[WORKERS] = {0};
    job **jobs = calloc(JOBS, sizeof *jobs);
    size_t texts = 0, taken = 0;
    assert_non_null(jobs);
    for (size_t i = 0; i < WORKERS; i++) {
        takers[i].q = q;
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_all, &takers[i]),
                         0);
    }
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i] = job_of(1 + i * 7 % 50, 4 + i % 100);
        texts += jobs[i]->n;
        assert_int_equal(queue_add(q, jobs[i]), QUEUE_ADDED);
        if (i % 100 == 0)
            queue_poke(q);
    }
    queue_close(q);
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(takers[i].thread, NULL);
        taken += takers[i].taken;
    }
    assert_int_equal(taken, texts);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(jobs[i]->unfinished, 0);
        assert_int_equal(jobs[i]->refs, 1);
        job_detach(jobs[i]);
    }
    free(jobs);
    queue_free(q);
}

/* A worker that was at work when it was poked hears of it when it comes back; else it
 * would keep an old model until somebody asks. */
static void a_poke_is_not_missed(void **state)
{
    (void)state;
    rf_error err = {0};
    queue *q = queue_new(10, &err);
    queue_item items[4];
    queue_view view = {0}, other = {0};
    queue_poke(q);
    queue_poke(q);
    assert_int_equal(queue_take(q, items, 4, 1000, &view), 0); /* does not wait */
    assert_false(view.closed);
    assert_int_equal(queue_take(q, items, 4, 1000, &other), 0);
    queue_poke(q);
    assert_int_equal(queue_take(q, items, 4, 1000, &view), 0);
    queue_free(q);
}

/* ---- Metrics ----------------------------------------------------------------------- */

static void *try_to_run(void *result)
{
    char *const argv[] = {"true", NULL};
    execv("/bin/true", argv);
    *(int *)result = errno;
    return NULL;
}

/* Also in threads that are started later. Other calls work as before. */
static void forbidden_calls_fail(void **state)
{
    (void)state;
    int code;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t thread;
        int result = 0;
        bool good = sandbox_enter() &&
                    pthread_create(&thread, NULL, try_to_run, &result) == 0 &&
                    pthread_join(thread, NULL) == 0 && result == EPERM;
        good = good && unshare(CLONE_NEWNS) != 0 && errno == EPERM;
        good = good && access("/", R_OK) == 0 && open("/dev/null", O_WRONLY) >= 0;
        _exit(good ? 7 : 8);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 7); /* 0: a program was run */
}

/* Lines that a full disk did not take are counted. */
static void log_lines_that_are_not_written(void **state)
{
    (void)state;
    char line[200] = "";
    int was = dup(STDERR_FILENO), full = open("/dev/full", O_WRONLY), ends[2];
    assert_true(was >= 0 && full >= 0 && pipe(ends) == 0);
    unsigned long long before = log_lost();
    dup2(full, STDERR_FILENO);
    assert_int_equal(log_start(NULL), RF_OK);
    for (int i = 0; i < 3; i++)
        log_line("line %d", i);
    log_stop();
    assert_int_equal(log_lost() - before, 3);
    dup2(ends[1], STDERR_FILENO);
    log_line("again");
    assert_int_equal(log_lost() - before, 3);
    dup2(was, STDERR_FILENO);
    assert_true(read(ends[0], line, sizeof line - 1) > 0);
    assert_string_equal(line, "ringfence: again\n");
    close(was);
    close(full);
    close(ends[0]);
    close(ends[1]);
}

static void counts_as_prometheus_reads_them(void **state)
{
    (void)state;
    static metrics m;
    rf_text t;
    metrics_request(&m, ENDPOINT_CLASSIFY, 200);
    metrics_request(&m, ENDPOINT_CLASSIFY, 200);
    metrics_request(&m, ENDPOINT_OTHER, 404);
    metrics_request(&m, ENDPOINT_PAGE, 599); /* a code that is not in the list */
    metrics_batch(&m, 3, 0.0031);
    metrics_batch(&m, 1000, 100);
    rf_text_init(&t, 1 << 20, "metrics");
    metrics_write(&m, &(metrics_state){7, 2, 1, 1.5, 9}, &t);
    metrics_label(&t, "a\"b\\c\nd");
    assert_int_equal(t.status, RF_OK);
    static const char *const lines[] = {
        "\nringfence_requests_total{endpoint=\"/v1/classify\",code=\"200\"} 2\n",
        "\nringfence_requests_total{endpoint=\"other\",code=\"404\"} 1\n",
        "\nringfence_requests_total{endpoint=\"/\",code=\"0\"} 1\n",
        "\n# TYPE ringfence_batch_texts histogram\n",
        "\nringfence_batch_texts_bucket{le=\"2\"} 0\n",
        "\nringfence_batch_texts_bucket{le=\"4\"} 1\n",
        "\nringfence_batch_texts_bucket{le=\"512\"} 1\n",
        "\nringfence_batch_texts_bucket{le=\"+Inf\"} 2\n",
        "\nringfence_batch_texts_sum 1003.000000\n",
        "\nringfence_batch_texts_count 2\n",
        "\nringfence_batch_seconds_bucket{le=\"0.003\"} 0\n",
        "\nringfence_batch_seconds_bucket{le=\"0.004\"} 1\n",
        "\nringfence_batch_seconds_sum 100.003100\n",
        "\nringfence_queue_texts 7\n",
        "\nringfence_model_generation 2\n",
        "\nringfence_uptime_seconds 1.5\n",
        "\nringfence_log_lines_lost_total 9\n",
        "\"a\\\"b\\\\c\\nd\""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(t.buffer.data, lines[i]))
            fail_msg("not there: %s in\n%s", lines[i], t.buffer.data);
    rf_text_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_and_closed),
        cmocka_unit_test(answers_are_limited),
        cmocka_unit_test(batches_keep_to_the_budget),
        cmocka_unit_test(a_small_job_is_not_starved),
        cmocka_unit_test(a_job_that_is_over_is_left_out),
        cmocka_unit_test(streams_in_order),
        cmocka_unit_test(every_text_is_taken_once),
        cmocka_unit_test(a_poke_is_not_missed),
        cmocka_unit_test(forbidden_calls_fail),
        cmocka_unit_test(log_lines_that_are_not_written),
        cmocka_unit_test(counts_as_prometheus_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
