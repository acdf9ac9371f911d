/* methods.c - the list of methods */
#include "open/method.h"

#include <string.h>

static const rf_method *const list[] = {&rf_method_msp,
                                        &rf_method_doc,
                                        &rf_method_openmax,
                                        &rf_method_lof,
                                        &rf_method_deepunk,
                                        &rf_method_knncl,
                                        &rf_method_convex,
                                        &rf_method_selfsup,
                                        &rf_method_adb,
                                        &rf_method_da_adb,
                                        &rf_method_knn,
                                        &rf_method_mahalanobis,
                                        &rf_method_msp_neg,
                                        &rf_method_adb_neg,
                                        &rf_method_ovr,
                                        &rf_method_ans,
                                        NULL};

const rf_method *const *rf_methods(void)
{
    return list;
}

const rf_method *rf_method_find(const char *name)
{
    for (size_t i = 0; list[i]; i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

const char *rf_method_objective(const rf_method *m)
{
    return m->objective_name ? m->objective_name
           : m->objective    ? m->name
                             : "cross entropy";
}

const char *rf_method_name(size_t i, const char **title, const char **summary)
{
    if (i >= sizeof list / sizeof *list - 1)
        return NULL;
    if (title)
        *title = list[i]->title;
    if (summary)
        *summary = list[i]->summary;
    return list[i]->name;
}

rf_method_options rf_method_options_default(void)
{
    return (rf_method_options){.contamination = 0.05f,
                               .quantile = 0.95f,
                               .threshold = 0.5f,
                               .doc_alpha = 3.0f,
                               .tail = 20,
                               .ranks = 10,
                               .boundary_epochs = 100,
                               .boundary_rate = 0.05f,
                               .cosine_scale = 30.0f,
                               .cosine_margin = 0.35f,
                               .queue = 7500,
                               .top = 25,
                               .momentum = 0.999f,
                               .contrast_weight = 0.1f,
                               .ascent_rate = 0.02f,
                               .rho = 1.0f,
                               .gamma = 2.0f};
}
