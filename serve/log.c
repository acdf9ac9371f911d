#include "log.h"

#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ROOM ((size_t)1 << 20) /* bytes that wait to be written */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_written;
static pthread_t writer;
static bool started, stopping, writing;
static char rooms[2][ROOM], *lines = rooms[0]; /* one fills up, the other is written */
static size_t used;
static unsigned long long lost, told; /* lines dropped; of them, those we spoke of */

/* A standard error that is closed or on a full disk is nothing we could tell anybody. */
static void write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

static void *write_lines(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "rf-log");
    pthread_mutex_lock(&lock);
    for (;;) {
        while (used == 0 && !stopping)
            pthread_cond_wait(&news, &lock);
        if (used == 0)
            break;
        char *full = lines, note[100];
        size_t len = used;
        int dropped = snprintf(note, sizeof note,
                               "ringfence: %llu lines of the log were dropped: they were "
                               "not read in time\n",
                               lost - told);
        bool tell = lost > told;
        told = lost;
        lines = rooms[full == rooms[0]];
        used = 0;
        writing = true;
        pthread_mutex_unlock(&lock);
        write_all(full, len);
        if (tell)
            write_all(note, (size_t)dropped);
        pthread_mutex_lock(&lock);
        writing = false;
        pthread_cond_signal(&all_written);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

rf_status log_start(rf_error *err)
{
    clock_cond_init(&all_written);
    int code = pthread_create(&writer, NULL, write_lines, NULL);
    if (code != 0)
        return rf_fail(err, RF_ERR_IO, 0, "cannot start a thread (error %d)", code);
    started = true;
    return RF_OK;
}

void log_stop(void)
{
    struct timespec end = clock_in(1);
    int code = 0;
    if (!started)
        return;
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&news);
    while ((used > 0 || writing) && code == 0)
        code = pthread_cond_timedwait(&all_written, &lock, &end);
    pthread_mutex_unlock(&lock);
    if (code == 0)
        pthread_join(writer, NULL);
    else
        pthread_detach(writer); /* nobody reads: it ends with the program */
    started = false;
}

/* ---- Lines ------------------------------------------------------------------------- */

static void add(const char *first, const char *bytes, size_t len)
{
    size_t before = strlen(first), whole = before + len + 1;
    pthread_mutex_lock(&lock);
    bool fits = whole <= ROOM - used;
    if (fits) {
        memcpy(lines + used, first, before);
        memcpy(lines + used + before, bytes, len);
        lines[used + whole - 1] = '\n';
        used += whole;
        pthread_cond_signal(&news);
    }
    lost += !fits;
    if (!started) { /* nobody else writes */
        write_all(lines, used);
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
    add("ringfence: ", line, len < (int)sizeof line ? (size_t)len : sizeof line - 1);
}

void log_raw(const char *bytes, size_t len)
{
    add("", bytes, len);
}

unsigned long long log_lost(void)
{
    pthread_mutex_lock(&lock);
    unsigned long long n = lost;
    pthread_mutex_unlock(&lock);
    return n;
}
