/* lab_discover.c - ringfence lab discover and loop: progress and a table of the results
 */
#include "lab_run.h"

#include "base/error.h"
#include "commands.h"
#include "lab/discover.h"
#include "lab/loop.h"
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

static int show_round(void *user, const rf_loop_point *p)
{
    (void)user;
    screen_progress_end();
    printf("%s\t%g\t%llu\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t%.2f\t%.2f\t%.1f\t", p->set,
           p->ratio, (unsigned long long)p->seed, p->round, p->texts, p->labels, p->rows,
           p->wrong, p->classes, p->updated.f1, p->updated.accuracy,
           p->review_seconds + p->update_seconds);
    if (p->last)
        printf("%.2f\t%.2f\n", p->trained.f1, p->trained.accuracy);
    else
        puts("-\t-");
    fflush(stdout);
    return train_progress_signal();
}

static bool begin(const lab_request *r, const char *header)
{
    if (!lab_has_directories(r))
        return false;
    train_progress_catch_signals();
    puts(header);
    return true;
}

static int finish(const lab_request *r, rf_status st, const char *file,
                  const rf_error *err)
{
    screen_progress_end();
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; what is finished is in %s/%s", r->o.out, file);
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(err);
}

int lab_discover(lab_request *r)
{
    rf_error err = {0};
    if (!begin(r, "set\tratio\tseed\tclasses\tclusters\tnumber\tacc\tnmi\tari\t"
                  "acc_unknown\tnmi_unknown\tari_unknown"))
        return EXIT_USAGE;
    rf_status st = rf_lab_discover(&r->o, show_stage, show_run, r, &err);
    return finish(r, st, "discover.jsonl", &err);
}

int lab_loop(lab_request *r)
{
    rf_error err = {0};
    if (!begin(r, "set\tratio\tseed\tround\ttexts\tlabels\trows\twrong\tclasses\tf1\t"
                  "accuracy\tseconds\ttrained_f1\ttrained_accuracy"))
        return EXIT_USAGE;
    rf_status st = rf_lab_loop(&r->o, show_stage, show_round, r, &err);
    return finish(r, st, RF_LOOP_FILE, &err);
}
