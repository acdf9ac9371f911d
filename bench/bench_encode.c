/*
 * bench_encode.c - times the encoder through the public API
 *
 *   bench_encode ENCODER TEXTS [fp32|int8]
 *
 * ENCODER is a catalogue name or a directory, TEXTS a file with one text a line. Reads
 * commands from stdin and answers each with one line of JSON, so that a driver can take
 * turns with another implementation (bench/encode.mjs):
 *
 *   info                  sizes, versions, tokens and exact FLOPs of one pass over TEXTS
 *   throughput THREADS    embeds all texts once, from raw text, tokens included
 *   latency THREADS N     N texts spread over the file, one at a time
 *   peak THREADS          multiply-add peak of that many threads together, in this
 *                         precision; for int8 only with AVX-512 VNNI
 *   load                  rf_encoder_load, best of 5 (files in the page cache)
 *   quit
 *
 * A command that fails answers {"error": "..."}. Embedders are made on first use and
 * kept, so no timing holds their construction.
 */
#include <ringfence_encoder.h>

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOAD_RUNS 5
#define PEAK_RUNS 24
#define PEAK_ROUNDS 4000000 /* about 8 ms on a 3 GHz core */
#define WARM_TEXTS 16

/* fma_peak.c and vnni_peak.c */
double fma_peak_run(size_t rounds, float *sink);
double vnni_peak_run(size_t rounds, float *sink);

typedef struct texts {
    char *bytes;
    const char **text; /* [n], into bytes */
    size_t *len;       /* [n] */
    size_t n;
} texts;

typedef struct bench {
    char dir[RF_PATH_MAX];
    rf_precision precision;
    rf_encoder *encoder;
    rf_encoder_info info;
    texts texts;
    size_t n_tokens; /* of all texts, each cut at the encoder's maximum */
    double flops;    /* of one pass over all texts */
    float *out;      /* [n, width] */
    rf_embedder *embedders[RF_MAX_THREADS + 1]; /* by number of threads */
} bench;

/* ---- Texts ----------------------------------------------------------------------- */

/* The whole file, NUL-terminated, or NULL with errno set. */
static char *read_file(const char *path, size_t *len)
{
    char *bytes = NULL;
    size_t cap = 0;
    FILE *file = fopen(path, "rb");
    *len = 0;
    if (!file)
        return NULL;
    do {
        cap = cap ? 2 * cap : 65536;
        char *grown = realloc(bytes, cap);
        if (!grown)
            goto fail;
        bytes = grown;
        *len += fread(bytes + *len, 1, cap - 1 - *len, file);
    } while (*len == cap - 1);
    if (ferror(file))
        goto fail;
    bytes[*len] = '\0';
    fclose(file);
    return bytes;
fail:
    free(bytes);
    fclose(file);
    return NULL;
}

static void texts_release(texts *t)
{
    free(t->bytes);
    free(t->text);
    free(t->len);
    *t = (texts){0};
}

/* Lines of a file; the last one may lack its newline. */
static bool texts_read(texts *t, const char *path)
{
    size_t len = 0;
    t->bytes = read_file(path, &len);
    if (!t->bytes)
        return false;
    size_t lines = 1;
    for (size_t i = 0; i < len; i++)
        lines += t->bytes[i] == '\n';
    t->text = malloc(lines * sizeof *t->text);
    t->len = malloc(lines * sizeof *t->len);
    if (!t->text || !t->len)
        return false;
    const char *end = t->bytes + len;
    for (const char *line = t->bytes; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            stop = end;
        t->text[t->n] = line;
        t->len[t->n++] = (size_t)(stop - line);
        line = stop + 1;
    }
    return true;
}

/* ---- The work in a pass ---------------------------------------------------------- */

/* Multiplications and additions of a text of T tokens. Per token and layer: four d x d
 * products (query, key, value, output), two d x f (feed-forward), and T d multiply-adds
 * each for the scores and for the weighted values. Softmax, GELU, norms and pooling are
 * not counted. */
static double flops_of(const rf_encoder_info *e, size_t tokens)
{
    const double t = (double)tokens;
    const double d = (double)e->width;
    const double f = (double)e->inner;
    const double per_token = 2.0 * (4.0 * d * d + 2.0 * d * f) + 4.0 * t * d;
    return t * (double)e->layers * per_token;
}

static rf_status count_work(bench *b, rf_error *err)
{
    const rf_vocab *vocab = rf_encoder_vocab(b->encoder);
    for (size_t i = 0; i < b->texts.n; i++) {
        int32_t first;
        size_t n = 0;
        rf_status s =
            rf_tokenize(vocab, b->texts.text[i], b->texts.len[i], &first, 1, &n, err);
        if (s != RF_OK)
            return s;
        if (n > b->info.max_tokens)
            n = b->info.max_tokens;
        b->n_tokens += n;
        b->flops += flops_of(&b->info, n);
    }
    return RF_OK;
}

/* ---- Answers --------------------------------------------------------------------- */

static void print_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void answer_error(const char *msg)
{
    printf("{\"error\": ");
    print_string(msg);
    printf("}\n");
}

/* The embedder for a number of threads, made on first use and warmed with a few texts.
 * NULL after answering with an error. */
static rf_embedder *embedder_for(bench *b, size_t threads)
{
    if (threads == 0 || threads > RF_MAX_THREADS) {
        answer_error("the number of threads is out of range");
        return NULL;
    }
    if (b->embedders[threads])
        return b->embedders[threads];
    rf_error err = {0};
    rf_embed_options options = rf_embed_options_default();
    options.threads = threads;
    options.precision = b->precision;
    rf_embedder *embedder = rf_embedder_new(b->encoder, &options, &err);
    const size_t n = b->texts.n < WARM_TEXTS ? b->texts.n : WARM_TEXTS;
    if (!embedder ||
        rf_embed(embedder, b->texts.text, b->texts.len, n, b->out, &err) != RF_OK) {
        answer_error(err.msg);
        rf_embedder_free(embedder);
        return NULL;
    }
    b->embedders[threads] = embedder;
    return embedder;
}

static void answer_info(const bench *b)
{
    printf("{\"version\": \"%s\", \"kernels\": \"%s\", \"layers\": %zu, \"width\": %zu, "
           "\"inner\": %zu, \"max_tokens\": %zu, \"parameters\": %zu, \"texts\": %zu, "
           "\"tokens\": %zu, \"flops\": %.0f}\n",
           rf_version(), rf_kernels_name(), b->info.layers, b->info.width, b->info.inner,
           b->info.max_tokens, b->info.parameters, b->texts.n, b->n_tokens, b->flops);
}

/* Of all threads of this process. */
static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void answer_throughput(bench *b, size_t threads)
{
    rf_embedder *embedder = embedder_for(b, threads);
    if (!embedder)
        return;
    rf_error err = {0};
    const double start = rf_clock_seconds(), cpu_start = cpu_seconds();
    const rf_status s =
        rf_embed(embedder, b->texts.text, b->texts.len, b->texts.n, b->out, &err);
    const double cpu = cpu_seconds() - cpu_start, seconds = rf_clock_seconds() - start;
    if (s != RF_OK) {
        answer_error(err.msg);
        return;
    }
    printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"texts\": %zu, \"tokens\": %zu, "
           "\"flops\": %.0f}\n",
           seconds, cpu, b->texts.n, b->n_tokens, b->flops);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void answer_latency(bench *b, size_t threads, size_t n)
{
    if (n == 0 || n > b->texts.n) {
        answer_error("latency wants 1 to as many texts as the file has");
        return;
    }
    rf_embedder *embedder = embedder_for(b, threads);
    if (!embedder)
        return;
    double *ms = malloc(n * sizeof *ms);
    if (!ms) {
        answer_error("out of memory");
        return;
    }
    rf_error err = {0};
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * b->texts.n / n;
        const double start = rf_clock_seconds();
        if (rf_embed(embedder, b->texts.text + at, b->texts.len + at, 1, b->out, &err) !=
            RF_OK) {
            answer_error(err.msg);
            free(ms);
            return;
        }
        ms[i] = (rf_clock_seconds() - start) * 1e3;
    }
    qsort(ms, n, sizeof *ms, compare_doubles);
    const double median = (ms[(n - 1) / 2] + ms[n / 2]) / 2.0;
    const double p99 = ms[(99 * n + 99) / 100 - 1]; /* nearest rank */
    printf("{\"n\": %zu, \"median_ms\": %.6f, \"p99_ms\": %.6f, \"min_ms\": %.6f}\n", n,
           median, p99, ms[0]);
    free(ms);
}

static void answer_load(const bench *b)
{
    double best = 0.0;
    for (int i = 0; i < LOAD_RUNS; i++) {
        rf_error err = {0};
        const double start = rf_clock_seconds();
        rf_encoder *encoder = rf_encoder_load(b->dir, &err);
        const double ms = (rf_clock_seconds() - start) * 1e3;
        if (!encoder) {
            answer_error(err.msg);
            return;
        }
        rf_encoder_free(encoder);
        if (i == 0 || ms < best)
            best = ms;
    }
    printf("{\"load_ms\": %.3f, \"runs\": %d}\n", best, LOAD_RUNS);
}

/* ---- Peak ------------------------------------------------------------------------ */

typedef struct peak_worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    double start[PEAK_RUNS];
    double end[PEAK_RUNS];
    double (*run)(size_t rounds, float *sink);
    double flops;
    float sink;
} peak_worker;

static bool cpu_has(rf_precision precision)
{
#if defined(__x86_64__)
    if (precision == RF_PRECISION_INT8)
        return __builtin_cpu_supports("avx512vnni");
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    (void)precision;
    return false;
#endif
}

static void *peak_main(void *user)
{
    peak_worker *w = user;
    for (int r = 0; r < PEAK_RUNS; r++) {
        pthread_barrier_wait(w->barrier);
        w->start[r] = rf_clock_seconds();
        w->flops = w->run(PEAK_ROUNDS, &w->sink);
        w->end[r] = rf_clock_seconds();
    }
    return NULL;
}

/* Operations of all workers over the time from the first start to the last end; the best
 * run counts, as the others were disturbed. */
static double best_run(const peak_worker *workers, size_t n)
{
    double best = 0.0;
    for (int r = 0; r < PEAK_RUNS; r++) {
        double start = workers[0].start[r];
        double end = workers[0].end[r];
        double flops = 0.0;
        for (size_t i = 0; i < n; i++) {
            if (workers[i].start[r] < start)
                start = workers[i].start[r];
            if (workers[i].end[r] > end)
                end = workers[i].end[r];
            flops += workers[i].flops;
        }
        const double rate = flops / (end - start);
        if (rate > best)
            best = rate;
    }
    return best;
}

static void answer_peak(rf_precision precision, size_t threads)
{
    if (threads == 0 || threads > RF_MAX_THREADS) {
        answer_error("the number of threads is out of range");
        return;
    }
    if (!cpu_has(precision)) {
        printf("{\"gflops\": null}\n");
        return;
    }
    pthread_barrier_t barrier;
    peak_worker *workers = calloc(threads, sizeof *workers);
    if (!workers || pthread_barrier_init(&barrier, NULL, (unsigned)threads) != 0) {
        answer_error("out of memory");
        free(workers);
        return;
    }
    for (size_t i = 0; i < threads; i++) {
        workers[i].barrier = &barrier;
        workers[i].run = precision == RF_PRECISION_INT8 ? vnni_peak_run : fma_peak_run;
        if (i == 0)
            continue; /* this thread */
        const int failed =
            pthread_create(&workers[i].thread, NULL, peak_main, &workers[i]);
        if (failed) {
            /* The others wait at the barrier for good; there is nothing to measure. */
            fprintf(stderr, "bench_encode: no thread: %s\n", strerror(failed));
            exit(EXIT_FAILURE);
        }
    }
    peak_main(&workers[0]);
    for (size_t i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    printf("{\"gflops\": %.3f, \"runs\": %d}\n", best_run(workers, threads) * 1e-9,
           PEAK_RUNS);
    pthread_barrier_destroy(&barrier);
    free(workers);
}

/* ---- Commands -------------------------------------------------------------------- */

/* False to quit. */
static bool answer(bench *b, const char *line)
{
    char word[16] = "";
    size_t x = 0;
    size_t y = 0;
    const int n = sscanf(line, "%15s %zu %zu", word, &x, &y);
    if (strcmp(word, "quit") == 0)
        return false;
    if (n == 1 && strcmp(word, "info") == 0)
        answer_info(b);
    else if (n == 2 && strcmp(word, "throughput") == 0)
        answer_throughput(b, x);
    else if (n == 3 && strcmp(word, "latency") == 0)
        answer_latency(b, x, y);
    else if (n == 2 && strcmp(word, "peak") == 0)
        answer_peak(b->precision, x);
    else if (n == 1 && strcmp(word, "load") == 0)
        answer_load(b);
    else
        answer_error("want: info | throughput THREADS | latency THREADS N | "
                     "peak THREADS | load | quit");
    fflush(stdout);
    return true;
}

static bool bench_init(bench *b, const char *name, const char *path)
{
    rf_error err = {0};
    if (rf_encoder_path(name, b->dir, sizeof b->dir, &err) != RF_OK)
        goto fail;
    b->encoder = rf_encoder_load(b->dir, &err);
    if (!b->encoder)
        goto fail;
    b->info = rf_encoder_describe(b->encoder);
    if (!texts_read(&b->texts, path)) {
        fprintf(stderr, "bench_encode: %s: %s\n", path, strerror(errno));
        return false;
    }
    if (b->texts.n == 0) {
        fprintf(stderr, "bench_encode: %s: no texts in it\n", path);
        return false;
    }
    b->out = malloc(b->texts.n * b->info.width * sizeof *b->out);
    if (!b->out) {
        fprintf(stderr, "bench_encode: out of memory\n");
        return false;
    }
    if (count_work(b, &err) != RF_OK)
        goto fail;
    return true;
fail:
    fprintf(stderr, "bench_encode: %s\n", err.msg);
    return false;
}

static void bench_release(bench *b)
{
    for (size_t i = 0; i <= RF_MAX_THREADS; i++)
        rf_embedder_free(b->embedders[i]);
    rf_encoder_free(b->encoder);
    texts_release(&b->texts);
    free(b->out);
}

int main(int argc, char **argv)
{
    static bench b;
    bool int8 = argc == 4 && strcmp(argv[3], "int8") == 0;
    if (argc != 3 && !int8 && (argc != 4 || strcmp(argv[3], "fp32") != 0)) {
        fprintf(stderr, "usage: bench_encode ENCODER TEXTS [fp32|int8]\n");
        return 2;
    }
    b.precision = int8 ? RF_PRECISION_INT8 : RF_PRECISION_FP32;
    const bool ready = bench_init(&b, argv[1], argv[2]);
    if (ready) {
        char line[128];
        while (fgets(line, sizeof line, stdin) && answer(&b, line))
            continue;
    }
    bench_release(&b);
    return ready ? EXIT_SUCCESS : EXIT_FAILURE;
}
