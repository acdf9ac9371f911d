/* log.c - two buffers: callers fill one while a thread writes the other */
#include "log.h"

#include "base/clock.h"
#include "thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CAPACITY ((size_t)1 << 20) /* bytes waiting to be written */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t written;
static pthread_t writer_thread;
static bool started, stopping, writing;
static char buffers[2][CAPACITY], *lines = buffers[0]; /* lines: the one being filled */
static size_t used;
static unsigned long long lost, lost_reported; /* dropped lines */

/* Returns how many lines were not written: standard error may be closed, or its disk
 * full. */
static unsigned long long write_all(const char *bytes, size_t len)
{
    unsigned long long left = 0;
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        bytes += n;
        len -= (size_t)n;
    }
    for (size_t i = 0; i < len; i++)
        left += bytes[i] == '\n';
    return left;
}

static void *writer_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "rf-log");
    pthread_mutex_lock(&lock);
    for (;;) {
        while (used == 0 && !stopping)
            pthread_cond_wait(&not_empty, &lock);
        if (used == 0)
            break;
        char *full = lines, note[120];
        size_t len = used;
        unsigned long long dropped = lost - lost_reported;
        int note_len =
            snprintf(note, sizeof note,
                     "ringfence: %llu log line%s dropped: not read in time, or "
                     "not written\n",
                     dropped, dropped == 1 ? "" : "s");
        lines = buffers[full == buffers[0]];
        used = 0;
        writing = true;
        pthread_mutex_unlock(&lock);
        unsigned long long failed = write_all(full, len);
        bool reported = dropped > 0 && write_all(note, (size_t)note_len) == 0;
        pthread_mutex_lock(&lock);
        lost += failed;
        lost_reported += reported ? dropped : 0;
        writing = false;
        pthread_cond_signal(&written);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

rf_status log_start(rf_error *err)
{
    rf_clock_cond_init(&written);
    rf_status st = thread_start(&writer_thread, writer_main, NULL, "the log", err);
    started = st == RF_OK;
    return st;
}

void log_stop(void)
{
    struct timespec deadline = rf_clock_after(1);
    int code = 0;
    if (!started)
        return;
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&not_empty);
    while ((used > 0 || writing) && code == 0)
        code = pthread_cond_timedwait(&written, &lock, &deadline);
    pthread_mutex_unlock(&lock);
    if (code == 0)
        pthread_join(writer_thread, NULL);
    else
        pthread_detach(writer_thread); /* blocked: it ends with the program */
    started = false;
}

/* ---- Lines ------------------------------------------------------------------------- */

static void add_line(const char *prefix, const char *bytes, size_t len)
{
    size_t prefix_len = strlen(prefix), whole = prefix_len + len + 1;
    pthread_mutex_lock(&lock);
    bool fits = whole <= CAPACITY - used;
    if (fits) {
        memcpy(lines + used, prefix, prefix_len);
        memcpy(lines + used + prefix_len, bytes, len);
        lines[used + whole - 1] = '\n';
        used += whole;
        pthread_cond_signal(&not_empty);
    }
    lost += !fits;
    if (!started) { /* there is no thread to write it */
        lost += write_all(lines, used);
        used = 0;
    }
    pthread_mutex_unlock(&lock);
}

void log_line(const char *format, ...)
{
    char line[1200];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    add_line("ringfence: ", line, len < (int)sizeof line ? (size_t)len : sizeof line - 1);
}

void log_raw(const char *bytes, size_t len)
{
    add_line("", bytes, len);
}

unsigned long long log_lost(void)
{
    pthread_mutex_lock(&lock);
    unsigned long long n = lost;
    pthread_mutex_unlock(&lock);
    return n;
}
