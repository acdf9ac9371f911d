/* train_progress.c - shows and logs the progress of a training, and handles stop signals
 */
#include "train_progress.h"

#include "base/clock.h"
#include "json_text.h"
#include "screen.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;
static atomic_llong stop_time; /* of the first signal, in milliseconds */

/* timeout(1) signals the process and then its group: two signals within this time are one
 * stop request. */
enum { ONCE_MS = 500 };

static void request_stop(int signum)
{
    long long ms = (long long)(1e3 * rf_clock_seconds()), first = 0;
    if (atomic_compare_exchange_strong(&stop_time, &first, ms)) {
        stop_signal = signum;
    } else if (ms - first > ONCE_MS) {
        signal(signum, SIG_DFL);
        raise(signum);
    }
}

/* If the reader of our output goes away, writes fail but the training continues. */
static void ignore_sigpipe(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void train_progress_catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    ignore_sigpipe();
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction old, new = {.sa_handler = request_stop};
        new.sa_flags = SA_RESTART;
        sigemptyset(&new.sa_mask);
        /* Signals that the parent ignores (nohup, a background job) stay ignored. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &new, NULL);
    }
}

int train_progress_signal(void)
{
    return stop_signal;
}

rf_status train_progress_open(train_progress *p, bool quiet, const char *log_path,
                              bool append, rf_error *err)
{
    *p = (train_progress){.quiet = quiet, .log_path = log_path};
    ignore_sigpipe();
    if (log_path && !(p->log = fopen(log_path, append ? "a" : "w")))
        return rf_fail_errno(err, "%s: cannot open", log_path);
    return RF_OK;
}

/* ---- The log ----------------------------------------------------------------------- */

bool train_progress_begin(train_progress *p, const char *stage)
{
    if (!p->log)
        return false;
    fputs("{\"stage\": ", p->log);
    json_put_name(p->log, stage);
    return true;
}

void train_progress_end(train_progress *p)
{
    fputs("}\n", p->log);
    fflush(p->log);
}

/* Logs the end of a stage, of an epoch, of a group of heads or of a fold. */
static void log_event(train_progress *p, const rf_train_event *e)
{
    static const char *const names[] = {"encode", "known", "features",
                                        "open",   "folds", "map"};
    bool known = e->stage == RF_STAGE_KNOWN, open = e->stage == RF_STAGE_OPEN;
    bool folds = e->stage == RF_STAGE_FOLDS;
    if (known || folds ? !e->epoch_end : !open && e->done < e->total)
        return;
    if (!train_progress_begin(p, names[e->stage]))
        return;
    fprintf(p->log, ", \"done\": %zu, \"total\": %zu", e->done, e->total);
    if (known)
        fprintf(p->log, ", \"epoch\": %zu, \"epochs\": %zu", e->epoch, e->epochs);
    if (folds)
        fprintf(p->log, ", \"fold\": %zu, \"folds\": %zu", e->epoch, e->epochs);
    if (known || open) {
        fputs(", \"loss\": ", p->log);
        json_put_double(p->log, e->loss);
    }
    if (known && e->dev_accuracy >= 0.0)
        fprintf(p->log, ", \"dev_accuracy\": %.17g", e->dev_accuracy);
    fprintf(p->log, ", \"seconds\": %.3f", e->seconds);
    train_progress_end(p);
}

/* ---- The screen -------------------------------------------------------------------- */

static void time_left(char out[SCREEN_TIME + 8], double seconds)
{
    char time[SCREEN_TIME];
    out[0] = '\0';
    if (seconds >= 0.0)
        snprintf(out, SCREEN_TIME + 8, ", %s left", screen_time(time, seconds));
}

static void dev_accuracy(char out[40], const rf_train_event *e)
{
    out[0] = '\0';
    if (e->dev_accuracy >= 0.0)
        snprintf(out, 40, ", dev accuracy %.2f %%", e->dev_accuracy);
}

/* Every line fits into 80 columns: a wrapped line could not be overwritten. */
static void show_on_terminal(const rf_train_event *e)
{
    char left[SCREEN_TIME + 8], dev[40], loss[80] = "";
    bool always = e->epoch_end || e->stage == RF_STAGE_OPEN;
    time_left(left, e->seconds_left);
    dev_accuracy(dev, e);
    switch (e->stage) {
    case RF_STAGE_ENCODE:
        screen_progress_line(always, "encoding: %zu of %zu texts%s", e->done, e->total,
                             left);
        break;
    case RF_STAGE_KNOWN:
        if (e->epoch > 0)
            snprintf(loss, sizeof loss, ", loss %.4f%s", e->loss, dev);
        screen_progress_line(always, "epoch %.1f of %zu%s%s",
                             (double)e->done * (double)e->epochs / (double)e->total,
                             e->epochs, loss, left);
        break;
    case RF_STAGE_FEATURES:
        screen_progress_line(always, "features: %zu of %zu texts%s", e->done, e->total,
                             left);
        break;
    case RF_STAGE_OPEN:
        if (e->loss == 0.0) /* no class so far has rows enough for a head */
            break;
        screen_progress_line(always, "heads: %zu of %zu, loss %.4f%s", e->done, e->total,
                             e->loss, left);
        break;
    case RF_STAGE_FOLDS:
        screen_progress_line(always, "folds: %zu of %zu, %.0f %%%s", e->epoch, e->epochs,
                             100.0 * (double)e->done / (double)e->total, left);
        break;
    case RF_STAGE_MAP:
        screen_progress_line(always, "map: %.0f %%%s",
                             100.0 * (double)e->done / (double)e->total, left);
        break;
    }
}

static void print_milestone(train_progress *p, const rf_train_event *e)
{
    char time[SCREEN_TIME], dev[40];
    dev_accuracy(dev, e);
    if (e->stage == RF_STAGE_KNOWN && e->epoch_end) {
        fprintf(stderr, "epoch %zu of %zu: loss %.4f%s, %s\n", e->epoch, e->epochs,
                e->loss, dev, screen_time(time, e->seconds));
    } else if (e->stage == RF_STAGE_FOLDS && e->epoch_end) {
        fprintf(stderr, "folds: %zu of %zu, %s\n", e->epoch, e->epochs,
                screen_time(time, e->seconds));
    } else if (e->stage == RF_STAGE_OPEN && e->loss != 0.0 &&
               e->done * 10 / e->total > p->tenths) {
        p->tenths = e->done * 10 / e->total;
        fprintf(stderr, "heads: %zu of %zu, loss %.4f, %s\n", e->done, e->total, e->loss,
                screen_time(time, e->seconds));
    }
}

int train_progress_report(void *user, const rf_train_event *event)
{
    train_progress *p = user;
    p->last = *event;
    if (p->log)
        log_event(p, event);
    if (!p->quiet && event->total > 0) {
        if (isatty(STDERR_FILENO))
            show_on_terminal(event);
        else
            print_milestone(p, event);
    }
    return stop_signal;
}

rf_status train_progress_close(train_progress *p, rf_error *err)
{
    screen_progress_end();
    if (!p->log)
        return RF_OK;
    bool bad = ferror(p->log);
    bad = fclose(p->log) != 0 || bad;
    p->log = NULL;
    return bad ? rf_fail_errno(err, "%s: cannot write", p->log_path) : RF_OK;
}
