/* methods.c - the list of methods, and lookup by name */
#include "methods/methods.h"

#include <string.h>

#define ENTRY(name) &rf_method_##name,
static const rf_method *const list[] = {RF_METHODS(ENTRY) NULL};

const rf_method *const *rf_methods(void)
{
    return list;
}

const rf_method *rf_method_find(const char *name)
{
    if (!name)
        return &rf_method_ans;
    for (size_t i = 0; list[i]; i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
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
