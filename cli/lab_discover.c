/* lab_discover.c - ringfence lab discover: progress and a table of the results */
#include "lab_run.h"

#include "base/error.h"
#include "commands.h"
#include "lab/discover.h"
#include "screen.h"
#include "train_progress.h"

#include <stdio.h>

static int show_stage(void *user, const rf_train_event *e)
{
    const lab_request *r = user;
    static const char *const stages[] = {"encoding", "stage 1", "features",
                                         "stage 2",  "folds",   "map"};
    if (!r->quiet && e->total > 0)
        screen_progress_line(false, "%s: %.0f %%", stages[e->stage],
                             100.0 * (double)e->done / (double)e->total);
    return train_progress_signal();
}

static void put_figures(const rf_agreement *all, const rf_agreement *open)
{
    printf("\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f", all->accuracy, all->nmi, all->ari,
           open->accuracy, open->nmi, open->ari);
}

static int show_run(void *user, const rf_discovery *d)
{
    (void)user;
    screen_progress_end();
    printf("%s\t%g\t%llu\t%zu\t%zu\tgiven", d->set, d->ratio, (unsigned long long)d->seed,
           d->classes, d->classes);
    put_figures(&d->all, &d->open);
    printf("\n%s\t%g\t%llu\t%zu\t%zu\tfound", d->set, d->ratio,
           (unsigned long long)d->seed, d->classes, d->found);
    put_figures(&d->found_all, &d->found_open);
    putchar('\n');
    fflush(stdout);
    return train_progress_signal();
}

int lab_discover(lab_request *r)
{
    rf_error err = {0};
    if (!r->o.data || !r->o.out) {
        screen_complain("lab: wanted --data DIR with the sets and --out DIR for results");
        return EXIT_USAGE;
    }
    train_progress_catch_signals();
    puts("set\tratio\tseed\tclasses\tclusters\tnumber\tacc\tnmi\tari\tacc_unknown\t"
         "nmi_unknown\tari_unknown");
    rf_status st = rf_lab_discover(&r->o, show_stage, show_run, r, &err);
    screen_progress_end();
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; finished runs are in %s/discover.jsonl", r->o.out);
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(&err);
}
