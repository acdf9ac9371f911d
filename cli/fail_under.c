/* fail_under.c - reads limits of figures and holds an evaluation against them */
#include "fail_under.h"

#include "screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double low, high; /* of a limit; in the unit that eval prints */
} figures[FAIL_UNDER_FIGURES] = {
    {"accuracy", 0, 100},  {"f1", 0, 100},    {"f1-known", 0, 100}, {"f1-open", 0, 100},
    {"f1-tested", 0, 100}, {"auroc", 0, 100}, {"mcc", -1, 1}};

/* One item, "f1=80", of this length. */
static bool read_item(fail_under *f, const char *program, const char *item, size_t len)
{
    const char *equals = memchr(item, '=', len);
    size_t name_len = equals ? (size_t)(equals - item) : len, i = 0;
    char *end = NULL;
    while (i < FAIL_UNDER_FIGURES && (strlen(figures[i].name) != name_len ||
                                      memcmp(figures[i].name, item, name_len) != 0))
        i++;
    if (i == FAIL_UNDER_FIGURES) {
        screen_complain("%s: --fail-under: no figure \"%.*s\"; wanted accuracy, f1, "
                        "f1-known, f1-open, f1-tested, auroc or mcc, as in f1=80",
                        program, (int)(name_len < 100 ? name_len : 100), item);
        return false;
    }
    double least = equals ? strtod(equals + 1, &end) : NAN;
    if (!equals || end == equals + 1 || end != item + len ||
        !(least >= figures[i].low && least <= figures[i].high)) {
        screen_complain("%s: --fail-under: \"%.*s\": wanted %s= and a number from %g to "
                        "%g",
                        program, (int)(len < 100 ? len : 100), item, figures[i].name,
                        figures[i].low, figures[i].high);
        return false;
    }
    f->least[i] = least;
    return true;
}

bool fail_under_read(fail_under *f, const char *program, const text_list *given)
{
    for (size_t i = 0; i < FAIL_UNDER_FIGURES; i++)
        f->least[i] = NAN;
    for (size_t i = 0; i < given->n; i++) {
        const char *item = given->item[i];
        for (bool more = true; more;) {
            size_t len = strcspn(item, ",");
            more = item[len] == ',';
            if (!read_item(f, program, item, len))
                return false;
            item += len + 1;
        }
    }
    return true;
}

bool fail_under_check(const fail_under *f, const rf_evaluation *e)
{
    const double values[FAIL_UNDER_FIGURES] = {
        e->accuracy, e->f1, e->f1_known, e->f1_open, e->f1_tested, e->auroc, e->mcc};
    bool reached = true;
    for (size_t i = 0; i < FAIL_UNDER_FIGURES; i++) {
        double v = values[i];
        if (isnan(f->least[i]) || v >= f->least[i])
            continue;
        reached = false;
        if (isnan(v))
            screen_complain("%s is not defined for these texts, wanted at least %g",
                            figures[i].name, f->least[i]);
        else
            screen_complain("%s is %.6g, wanted at least %g", figures[i].name, v,
                            f->least[i]);
    }
    return reached;
}
