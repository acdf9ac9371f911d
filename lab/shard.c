/* shard.c - deals the runs of a plan to machines, those that share stage 1 together */
#include "lab/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHARDS 100000

static bool changes_rows(const rf_planned *p)
{
    return strncmp(p->variant, "rows=", 5) == 0 ||
           strncmp(p->variant, "classes=", 8) == 0;
}

bool rf_planned_share(const rf_planned *p, const rf_planned *q)
{
    const char *a = rf_method_objective(p->method), *b = rf_method_objective(q->method);
    if (q->set != p->set || q->ratio != p->ratio || q->seed != p->seed ||
        strcmp(a, b) != 0)
        return false;
    return strcmp(p->variant, q->variant) == 0 ||
           (!changes_rows(p) && !changes_rows(q) && !p->method->objective);
}

static bool read_shard(const char *text, size_t *number, size_t *of)
{
    int end = 0;
    unsigned i = 0, n = 0;
    bool digits = strspn(text, "0123456789/") == strlen(text) && strlen(text) < 16;
    if (!digits || sscanf(text, "%u/%u%n", &i, &n, &end) != 2 || text[end] != '\0')
        return false;
    *number = i;
    *of = n;
    return i >= 1 && i <= n && n <= MOST_SHARDS;
}

rf_status rf_plan_shard(rf_plan *plan, const char *shard, rf_error *err)
{
    size_t number, of, groups = 0, kept = 0;
    if (!shard)
        return RF_OK;
    if (!read_shard(shard, &number, &of))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "shard \"%.40s\": wanted I/N, such as 2/8: the second of eight, "
                       "N at most %d",
                       shard, MOST_SHARDS);
    size_t *group = calloc(plan->n + 1, sizeof *group);
    if (!group)
        return rf_fail_nomem(err, plan->n * sizeof *group, "the plan");
    for (size_t i = 0; i < plan->n; i++) {
        size_t k = 0;
        while (k < i && !rf_planned_share(&plan->runs[i], &plan->runs[k]))
            k++;
        group[i] = k < i ? group[k] : groups++;
    }
    for (size_t i = 0; i < plan->n; i++)
        if (group[i] % of == number - 1)
            plan->runs[kept++] = plan->runs[i];
    plan->n = kept;
    free(group);
    return RF_OK;
}
