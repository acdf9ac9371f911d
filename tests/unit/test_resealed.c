/*
 * test_resealed.c - hostile models that are properly sealed, put to use
 *
 * Good models of every method are changed at random and sealed again. Each is loaded,
 * asked, explained, placed, evaluated, reported on, saved and loaded again, in a process
 * of its own with bars on memory and CPU time. It may be refused, with words; it may
 * answer whatever it likes, in range; nothing else.
 *
 *   RF_CASES=5000 build/tests/test_resealed         more cases (make long)
 *   RF_CASE=1234 build/tests/test_resealed          one of them again
 */
#define _DEFAULT_SOURCE /* wait4 */
#include "mutate.h"
#include "scratch.h"

#include "methods/methods.h"

#include <ringfence.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_MEMORY ((size_t)1 << 30)
#define MOST_SECONDS 5
#define LINE 500

#if defined(__SANITIZE_ADDRESS__)
#define SHADOWED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHADOWED
#endif
#endif
#ifdef SHADOWED /* memory cannot be limited, and all is slow */
#define CASES 100
#else
#define CASES 300
#endif

static const char *const texts[] = {
    "where is my parcel",
    "the chain fell off",
    "",
    "\xff\xfe bad",
    "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a",
    "hello thank you"};
enum { TEXTS = sizeof texts / sizeof *texts, CLASSES = 4, ROWS = 6 };

/* ---- Good models ------------------------------------------------------------------- */

typedef struct base {
    const char *method;
    unsigned char *bytes;
    size_t len;
} base;
static base bases[32];
static size_t n_bases;
static rf_dataset *data;
static char dir[RF_PATH_MAX];

static void make_data(void)
{
    static const char *const words[] = {"where", "is",  "my",  "parcel", "chain", "off",
                                        "how",   "do",  "i",   "pay",    "hello", "thank",
                                        "you",   "can", "not", "order"};
    char text[100], label[20];
    data = rf_dataset_new(NULL);
    assert_non_null(data);
    for (size_t i = 0; i < CLASSES * ROWS; i++) {
        size_t c = i % CLASSES, k = i / CLASSES;
        int n =
            snprintf(text, sizeof text, "%s %s %s %s", words[4 * c], words[4 * c + k % 4],
                     words[(4 * c + k * 3) % 16], words[(k * 7 + c) % 16]);
        int m = snprintf(label, sizeof label, "class %u", (unsigned)c);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
}

static int make_models(void **state)
{
    (void)state;
    scratch_make(dir);
    make_data();
    for (const rf_method *const *m = rf_methods(); *m; m++) {
        rf_error err = {0};
        rf_train_options o = rf_train_options_default();
        rf_save_options save = rf_save_options_default();
        void *bytes;
        size_t len;
        o.encoder = GOLDEN_DIR "/tiny/encoder";
        o.method = (*m)->name;
        o.settings = "epochs=2 head_steps=5 head_negatives=8";
        o.open_texts = strcmp(o.method, "selfsup") == 0 ? data : NULL; /* it needs some */
        o.threads = 1;
        o.dev_share = -1;
        rf_model *model = rf_train(data, NULL, &o, &err);
        if (!model)
            fail_msg("%s: %s", (*m)->name, err.msg);
        save.keep_examples = true;
        if (rf_model_save_bytes(model, &save, &bytes, &len, &err) != RF_OK)
            fail_msg("%s: %s", (*m)->name, err.msg);
        rf_model_free(model);
        assert_true(n_bases < sizeof bases / sizeof *bases);
        bases[n_bases++] = (base){(*m)->name, bytes, len};
    }
    return 0;
}

static int free_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_bases; i++)
        free(bases[i].bytes);
    rf_dataset_free(data);
    scratch_remove(dir);
    return 0;
}

/* ---- Use, in a child --------------------------------------------------------------- */

static void must(bool fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "# not so: %s\n", what);
        _exit(3);
    }
}
#define MUST(fine) must(fine, #fine)

static rf_status look(void *user, const rf_decision *d, rf_error *err)
{
    const rf_model *m = user;
    size_t n = rf_model_classes(m), len;
    char *json;
    float x, y;
    rf_answer_options o = rf_answer_options_default();
    MUST(d->confidence >= 0.0f && d->confidence <= 1.0f);
    MUST(d->class_index == RF_OPEN || d->class_index < n);
    MUST(d->nearest < n && d->margin_class < n);
    for (size_t i = 0; i < n; i++)
        MUST(isfinite(d->margins[i]) && d->probabilities[i] >= 0 &&
             d->probabilities[i] <= 1.001f);
    o.top = 1000;
    o.margins = 1000;
    o.explain = rf_model_has_examples(m) ? 3 : 0;
    o.map = rf_model_map_size(m) > 0;
    if (o.map && rf_decision_place(m, d, &x, &y, err) == RF_OK)
        MUST(isfinite(x) && isfinite(y));
    rf_status st = rf_decision_json(m, d, &o, &json, &len, err);
    if (st == RF_OK) {
        json_t *back = json_loadb(json, len, JSON_ALLOW_NUL, NULL);
        MUST(back != NULL);
        json_decref(back);
        free(json);
    }
    return RF_OK;
}

static void ask(const rf_model *m)
{
    rf_error err = {0};
    size_t lens[TEXTS];
    rf_session *s = rf_session_new(m, 1, &err);
    MUST(s || err.msg[0]);
    for (size_t i = 0; i < TEXTS; i++)
        lens[i] = strlen(texts[i]);
    if (s) {
        rf_evaluation e = {0};
        rf_status st =
            rf_classify_all(s, texts, lens, TEXTS, look, (void *)(uintptr_t)m, &err);
        MUST(st == RF_OK || err.msg[0]);
        if (rf_evaluate(s, data, &e, &err) == RF_OK) {
            MUST(isfinite(e.accuracy) && isfinite(e.f1) && isfinite(e.calibration_error));
            rf_evaluation_release(&e);
        }
        rf_session_free(s);
    }
}

static int use(const unsigned char *bytes, size_t len)
{
    rf_error err = {0};
    char page[RF_PATH_MAX], file[RF_PATH_MAX];
    scratch_path(page, dir, "page.html");
    scratch_path(file, dir, "again.rf");
    rf_model *m = rf_model_load_bytes(bytes, len, "hostile.rf", &err);
    if (!m) {
        MUST(err.code != RF_OK && strstr(err.msg, "hostile.rf"));
        return 0;
    }
    rf_promise p;
    if (rf_model_promise(m, &p))
        MUST(isfinite(p.max_accept) && isfinite(p.expected_accept) &&
             isfinite(p.accept_low) && isfinite(p.accept_high) && isfinite(p.max_reject));
    ask(m);
    rf_report_options page_options = rf_report_options_default();
    page_options.threads = 1;
    page_options.max_points = 12;
    rf_status st = rf_report_model(m, data, &page_options, page, &err);
    MUST(st == RF_OK || err.msg[0]);
    rf_save_options save = rf_save_options_default();
    save.keep_examples = rf_model_has_examples(m);
    st = rf_model_save(m, file, &save, &err);
    MUST(st == RF_OK || err.msg[0]);
    rf_model_free(m);
    if (st == RF_OK) { /* what can be saved can be loaded */
        m = rf_model_load(file, &err);
        must(m, err.msg);
        ask(m);
        rf_model_free(m);
    }
    return 1;
}

/* ---- Cases ------------------------------------------------------------------------- */

static void set_bars(void)
{
    struct rlimit cpu = {MOST_SECONDS, MOST_SECONDS + 1};
#ifndef SHADOWED
    struct rlimit memory = {MOST_MEMORY, MOST_MEMORY};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &cpu);
#else
    cpu.rlim_cur *= 10;
    cpu.rlim_max *= 10;
    setrlimit(RLIMIT_CPU, &cpu);
#endif
    struct rlimit core = {0, 0};
    setrlimit(RLIMIT_CORE, &core);
}

/* 0: refused, 1: used, -1: a finding, which has been reported. */
static int try(uint64_t number)
{
    const base *b = &bases[number % n_bases];
    char what[LINE];
    sealed s;
    size_t len;
    assert_true(sealed_take_apart(&s, b->bytes, b->len));
    mutate(&s, number, what, sizeof what);
    unsigned char *file = sealed_put_together(&s, &len);
    assert_non_null(file);
    sealed_release(&s);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        set_bars();
        _exit(use(file, len) ? 10 : 0);
    }
    free(file);
    int status;
    struct rusage used;
    assert_int_equal(wait4(pid, &status, 0, &used), pid);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if ((code == 0 || code == 10) && (size_t)used.ru_maxrss * 1024 <= MOST_MEMORY)
        return code == 10;
    fprintf(stderr, "# case %llu: %s %d, %ld MB, %ld s of CPU; method %s: %s\n",
            (unsigned long long)number, code < 0 ? "signal" : "exit code", abs(code),
            used.ru_maxrss / 1024, (long)used.ru_utime.tv_sec, b->method, what);
    return -1;
}

static void all_refused_or_used(void **state)
{
    (void)state;
    const char *many = getenv("RF_CASES"), *one = getenv("RF_CASE");
    uint64_t n = many ? strtoull(many, NULL, 10) : CASES, refused = 0, used = 0,
             findings = 0;
    uint64_t from = one ? strtoull(one, NULL, 10) : 0;
    for (uint64_t i = from; i < (one ? from + 1 : n) && findings < 50; i++) {
        int got = try(i);
        refused += got == 0;
        used += got == 1;
        findings += got < 0;
    }
    print_message("# %llu refused, %llu used, %llu findings\n",
                  (unsigned long long)refused, (unsigned long long)used,
                  (unsigned long long)findings);
    assert_int_equal(findings, 0);
    if (!one && n >= CASES) { /* or the changes are all of one kind */
        assert_true(refused >= n / 10);
        assert_true(used >= n / 10);
    }
}

#ifndef SHADOWED
/* The bars are real: a child cannot have more. */
static void bars_hold(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        set_bars();
        volatile char *too_much = malloc(MOST_MEMORY);
        _exit(too_much ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef SHADOWED
        cmocka_unit_test(bars_hold),
#endif
        cmocka_unit_test(all_refused_or_used)};
    return cmocka_run_group_tests(tests, make_models, free_models);
}
