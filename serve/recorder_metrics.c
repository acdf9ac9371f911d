/* recorder_metrics.c - the figures of the store and of drift, as metrics */
#include "recorder.h"

#include "metrics.h"

#include <math.h>

static void put_count(rf_text *out, const char *name, const char *type, const char *help,
                      double value)
{
    metrics_describe(out, name, type, help);
    rf_text_format(out, "%s %.17g\n", name, value);
}

static void put_dropped(const recorder_figures *r, rf_text *out)
{
    const char *name = "ringfence_store_dropped_total";
    metrics_describe(out, name, "counter",
                     "Rows that were to be kept and could not be, by reason.");
    rf_text_format(out, "%s{reason=\"queue_full\"} %llu\n", name, r->dropped_full);
    rf_text_format(out, "%s{reason=\"disk\"} %llu\n", name, r->dropped_disk);
    rf_text_format(out, "%s{reason=\"memory\"} %llu\n", name, r->dropped_memory);
}

/* Periods without answers have no figure. */
static void put_periods(rf_text *out, const char *name, const drift_test *t)
{
    if (isfinite(t->after))
        rf_text_format(out, "%s{period=\"hour\"} %.9g\n", name, t->after);
    if (isfinite(t->before))
        rf_text_format(out, "%s{period=\"week\"} %.9g\n", name, t->before);
}

static void put_drift(const drift_report *d, rf_text *out)
{
    const struct {
        const char *name;
        const drift_test *test;
    } tests[] = {
        {"open_rate", &d->open}, {"margin", &d->margin}, {"classes", &d->classes}};
    put_count(out, "ringfence_drift", "gauge",
              "1 if the last whole hour differs from the week before.", d->drifted);
    metrics_describe(out, "ringfence_drift_p", "gauge",
                     "P value by test, corrected for their number; absent if there are "
                     "too few answers.");
    for (size_t i = 0; i < 3; i++)
        if (!tests[i].test->why_not)
            rf_text_format(out, "ringfence_drift_p{test=\"%s\"} %.9g\n", tests[i].name,
                           tests[i].test->p_holm);
    metrics_describe(out, "ringfence_drift_open_rate", "gauge",
                     "Share of open answers in the last whole hour and the week before.");
    put_periods(out, "ringfence_drift_open_rate", &d->open);
    metrics_describe(out, "ringfence_drift_margin", "gauge",
                     "Mean margin of known answers in the last whole hour and the week "
                     "before.");
    put_periods(out, "ringfence_drift_margin", &d->margin);
}

void recorder_write_metrics(recorder *rec, rf_text *out)
{
    recorder_figures now, *r = &now;
    recorder_look(rec, &now);
    put_count(out, "ringfence_store_rows_total", "counter", "Rows stored.",
              (double)r->stored);
    put_dropped(r, out);
    put_count(out, "ringfence_store_removed_total", "counter",
              "Rows deleted because of their age or the size of the file.",
              (double)r->removed);
    put_count(out, "ringfence_store_uncounted_total", "counter",
              "Answers missing from the hourly counts, for lack of memory.",
              (double)r->uncounted);
    put_count(out, "ringfence_store_waiting_rows", "gauge", "Rows waiting to be stored.",
              (double)r->waiting);
    put_count(out, "ringfence_store_bytes", "gauge", "Size of the store.",
              (double)r->bytes);
    put_count(out, "ringfence_store_errors_total", "counter",
              "Failed attempts to use the store.", (double)r->errors);
    metrics_describe(out, "ringfence_store_failing", "gauge",
                     "1 while rows cannot be stored; the last error.");
    rf_text_put(out, "ringfence_store_failing{error=");
    metrics_label(out, r->last_error);
    rf_text_format(out, "} %d\n", r->failing);
    put_drift(&r->drift, out);
}
