/* compare_output.c - prints a comparison of two models */
#include "compare_output.h"

#include "base/plural.h"
#include "json_text.h"
#include "screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_CLASSES 10
#define SHOWN_CHANGES 10 /* of a kind */
#define SHOWN_NAME 40    /* characters of a label in the table */
#define FIGURES 4

typedef struct figure {
    const char *title, *key;
    const rf_difference *d;
} figure;

static void list_figures(const rf_comparison *c, figure out[FIGURES])
{
    out[0] = (figure){"accuracy", "accuracy", &c->accuracy};
    out[1] = (figure){"F1", "f1", &c->f1};
    out[2] = (figure){"known called open", "known_called_open", &c->known_rejected};
    out[3] = (figure){"open let in", "open_let_in", &c->open_accepted};
}

static const char *label_of(const compare_output *o, size_t row)
{
    return rf_dataset_label(o->data, rf_dataset_class(o->data, row), NULL);
}

/* Open is not: the shares above the table say how the models differ there. */
static bool is_tested(const rf_class_difference *d)
{
    return d->known[0] && d->known[1] && d->class_index[0] != RF_OPEN;
}

/* ---- Text: figures ----------------------------------------------------------------- */

/* The classes that only one of the models knows. */
static void put_unshared(const compare_output *o, size_t side)
{
    const rf_comparison *c = o->c;
    size_t n = 0, first = 0;
    for (size_t i = 0; i < c->n_classes; i++)
        if (c->classes[i].known[side] && !c->classes[i].known[!side] && n++ == 0)
            first = i;
    if (n == 0)
        return;
    printf("%s alone     knows %zu %s, such as \"%s\": open for %s (%zu %s)\n",
           side ? "B" : "A", n, rf_plural(n, "class", "classes"), c->classes[first].label,
           side ? "A" : "B", c->n_one[side], rf_plural(c->n_one[side], "text", "texts"));
}

static void put_figure(const figure *f)
{
    const rf_difference *d = f->d;
    if (d->n == 0) {
        printf("%-18s  (there are no such texts)\n", f->title);
        return;
    }
    printf("%-18s %7.2f %% %7.2f %% %+8.2f   %+.2f to %+.2f%s\n", f->title, d->value[0],
           d->value[1], d->difference, d->low, d->high,
           d->beyond_chance ? "   beyond chance" : "");
}

static void put_verdict(const rf_comparison *c)
{
    if (!c->beyond_chance) {
        puts("\nno difference beyond chance");
        return;
    }
    figure figures[FIGURES];
    const char *between = "\nbeyond chance: ";
    list_figures(c, figures);
    for (size_t i = 0; i < FIGURES; i++)
        if (figures[i].d->beyond_chance) {
            printf("%s%s", between, figures[i].title);
            between = ", ";
        }
    if (c->n_different)
        printf("%s%zu %s", between, c->n_different,
               rf_plural(c->n_different, "class", "classes"));
    putchar('\n');
}

static void put_figures(const compare_output *o)
{
    figure figures[FIGURES];
    const rf_comparison *c = o->c;
    printf("A           %s\nB           %s\n", o->names[0], o->names[1]);
    printf("texts       %zu: %zu of classes that both models know, %zu open for both\n",
           c->n, c->n_known, c->n_open);
    put_unshared(o, 0);
    put_unshared(o, 1);
    put_verdict(c);
    printf("\n%-18s %9s %9s %8s   %s\n", "", "A", "B", "B - A", "95 % interval of B - A");
    list_figures(c, figures);
    for (size_t i = 0; i < FIGURES; i++)
        put_figure(&figures[i]);
}

/* ---- Text: classes ----------------------------------------------------------------- */

typedef struct ranked {
    double p, size;
    size_t at;
} ranked;

/* The surest differences first, then the largest. */
static int by_weight(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_class(const rf_class_difference *d)
{
    screen_put_cell(d->label, SHOWN_NAME);
    if (!d->known[0] || !d->known[1]) {
        printf(" %6zu  only %s knows it: F1 %.2f\n", d->score[d->known[1]].support,
               d->known[1] ? "B" : "A", d->score[d->known[1]].f1);
        return;
    }
    printf(" %6zu %7.2f %7.2f %+8.2f %7zu %7zu", d->score[0].support, d->score[0].f1,
           d->score[1].f1, d->score[1].f1 - d->score[0].f1, d->only_right[0],
           d->only_right[1]);
    if (is_tested(d))
        printf("   p %.4f%s\n", d->p, d->different ? ", beyond chance" : "");
    else
        puts("   see above");
}

static rf_status put_classes(const compare_output *o, bool all, rf_error *err)
{
    const rf_comparison *c = o->c;
    size_t shown = all || c->n_classes < SHOWN_CLASSES ? c->n_classes : SHOWN_CLASSES;
    ranked *order = calloc(c->n_classes, sizeof *order);
    if (!order)
        return rf_fail_nomem(err, c->n_classes * sizeof *order, "the table of classes");
    for (size_t i = 0; i < c->n_classes; i++) {
        const rf_class_difference *d = &c->classes[i];
        order[i] = (ranked){d->p, fabs(d->score[1].f1 - d->score[0].f1), i};
    }
    qsort(order, c->n_classes, sizeof *order, by_weight);
    if (shown < c->n_different)
        shown = c->n_different;
    if (c->n_different)
        printf("\n%zu of %zu classes %s beyond chance (p corrected for all of them)\n",
               c->n_different, c->n_tested,
               rf_plural(c->n_different, "differs", "differ"));
    else
        printf("\nno class differs beyond chance (%zu tested)\n", c->n_tested);
    printf("%-*s %6s %7s %7s %8s %15s\n", SHOWN_NAME, "class, surest difference first",
           "texts", "F1 A", "F1 B", "B - A", "right only A, B");
    for (size_t i = 0; i < shown; i++)
        put_class(&c->classes[order[i].at]);
    if (shown < c->n_classes)
        printf("(%zu more: --all)\n", c->n_classes - shown);
    free(order);
    return RF_OK;
}

/* ---- Text: changes ----------------------------------------------------------------- */

static const char *const kinds[RF_CHANGE_KINDS] = {"right with A, wrong with B",
                                                   "wrong with A, right with B",
                                                   "wrong with both, differently"};

static void put_change(const compare_output *o, const rf_change *change)
{
    char line[300], label[100];
    size_t len;
    const char *text = rf_dataset_text(o->data, change->row, &len);
    const char *truth = label_of(o, change->row);
    printf("  row %zu, %s: %s -> %s\n      %s\n", change->row + 1,
           screen_one_line(label, sizeof label, truth, strlen(truth)),
           rf_model_label(o->c->model[0], change->answer[0]),
           rf_model_label(o->c->model[1], change->answer[1]),
           screen_one_line(line, sizeof line, text, len));
}

static void put_changes(const compare_output *o, bool all)
{
    const rf_change *change = o->c->changes;
    for (size_t k = 0; k < RF_CHANGE_KINDS; k++) {
        size_t n = o->c->n_kind[k];
        size_t shown = all || n < SHOWN_CHANGES ? n : SHOWN_CHANGES;
        printf("\n%s: %zu %s%s\n", kinds[k], n, rf_plural(n, "text", "texts"),
               n && k == 0 ? " (label: answer of A -> answer of B)" : "");
        for (size_t i = 0; i < shown; i++)
            put_change(o, &change[i]);
        if (shown < n)
            printf("  (%zu more: --all)\n", n - shown);
        change += n;
    }
}

rf_status compare_put_text(const compare_output *o, bool all, rf_error *err)
{
    put_figures(o);
    rf_status st = put_classes(o, all, err);
    if (st == RF_OK)
        put_changes(o, all);
    return st;
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_number(const char *before, double v)
{
    fputs(before, stdout);
    json_put_double(stdout, v);
}

static void put_name(const char *before, const char *name)
{
    fputs(before, stdout);
    json_put_name(stdout, name);
}

static const char *truth_value(bool v)
{
    return v ? "true" : "false";
}

static void put_json_figure(const figure *f)
{
    const rf_difference *d = f->d;
    printf(",\n  \"%s\": {\"texts\": %zu", f->key, d->n);
    put_number(", \"a\": ", d->value[0]);
    put_number(", \"b\": ", d->value[1]);
    put_number(", \"difference\": ", d->difference);
    put_number(", \"interval\": [", d->low);
    put_number(", ", d->high);
    printf("], \"beyond_chance\": %s}", truth_value(d->beyond_chance));
}

/* A score of a model that does not know the class is null. */
static void put_json_score(const char *key, const rf_class_difference *d, size_t side)
{
    const rf_class_score *s = &d->score[side];
    printf(", \"%s\": ", key);
    if (!d->known[side]) {
        fputs("null", stdout);
        return;
    }
    put_number("{\"precision\": ", s->precision);
    put_number(", \"recall\": ", s->recall);
    put_number(", \"f1\": ", s->f1);
    printf(", \"support\": %zu}", s->support);
}

static void put_json_class(const rf_class_difference *d)
{
    put_name("\n    {\"label\": ", d->label);
    put_json_score("a", d, 0);
    put_json_score("b", d, 1);
    printf(", \"only_a_right\": %zu, \"only_b_right\": %zu", d->only_right[0],
           d->only_right[1]);
    put_number(", \"p\": ", is_tested(d) ? d->p : NAN);
    printf(", \"different\": %s}", truth_value(d->different));
}

static void put_json_change(const compare_output *o, const rf_change *change)
{
    static const char *const names[RF_CHANGE_KINDS] = {"lost", "gained", "wrong"};
    size_t len;
    const char *text = rf_dataset_text(o->data, change->row, &len);
    printf("\n    {\"kind\": \"%s\", \"row\": %zu", names[change->kind], change->row + 1);
    put_name(", \"label\": ", label_of(o, change->row));
    put_name(", \"a\": ", rf_model_label(o->c->model[0], change->answer[0]));
    put_name(", \"b\": ", rf_model_label(o->c->model[1], change->answer[1]));
    put_number(", \"a_confidence\": ", (double)change->confidence[0]);
    put_number(", \"b_confidence\": ", (double)change->confidence[1]);
    fputs(", \"text\": ", stdout);
    json_put_string(stdout, text, len);
    fputs("}", stdout);
}

void compare_put_json(const compare_output *o)
{
    const rf_comparison *c = o->c;
    figure figures[FIGURES];
    list_figures(c, figures);
    put_name("{\n  \"a\": ", o->names[0]);
    put_name(",\n  \"b\": ", o->names[1]);
    printf(",\n  \"n\": %zu, \"n_known\": %zu, \"n_open\": %zu, \"n_only_a_knows\": %zu, "
           "\"n_only_b_knows\": %zu,\n  \"beyond_chance\": %s",
           c->n, c->n_known, c->n_open, c->n_one[0], c->n_one[1],
           truth_value(c->beyond_chance));
    for (size_t i = 0; i < FIGURES; i++)
        put_json_figure(&figures[i]);
    printf(",\n  \"n_tested\": %zu, \"n_different\": %zu", c->n_tested, c->n_different);
    put_number(", \"scatter\": ", c->scatter);
    fputs(",\n  \"classes\": [", stdout);
    for (size_t i = 0; i < c->n_classes; i++) {
        fputs(i ? "," : "", stdout);
        put_json_class(&c->classes[i]);
    }
    printf("\n  ],\n  \"n_both_right\": %zu, \"n_lost\": %zu, \"n_gained\": %zu, "
           "\"n_wrong\": %zu,\n  \"changes\": [",
           c->both_right, c->n_kind[RF_CHANGE_LOST], c->n_kind[RF_CHANGE_GAINED],
           c->n_kind[RF_CHANGE_WRONG]);
    for (size_t i = 0; i < c->n_changes; i++) {
        fputs(i ? "," : "", stdout);
        put_json_change(o, &c->changes[i]);
    }
    fputs(c->n_changes ? "\n  ]\n}\n" : "]\n}\n", stdout);
}
