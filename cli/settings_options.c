/* settings_options.c - options made from the library's settings, and the names of methods
 */
#include "settings_options.h"

#include <stdio.h>
#include <string.h>

void method_names(char out[METHOD_NAMES])
{
    size_t n = 0;
    const char *name;
    out[0] = '\0';
    for (size_t i = 0; (name = rf_method_name(i, NULL, NULL)) && n < METHOD_NAMES; i++)
        n += (size_t)snprintf(out + n, METHOD_NAMES - n, "%s%s", i ? ", " : "", name);
}

/* Whether the method is in the list, which is separated by blanks. */
static bool list_has(const char *methods, const char *method)
{
    size_t len = strlen(method);
    while (methods) {
        size_t n = strcspn(methods, " ");
        if (n == len && memcmp(methods, method, n) == 0)
            return true;
        methods = methods[n] ? methods + n + 1 : NULL;
    }
    return false;
}

size_t settings_options_list(settings_text *text, const char *method,
                             option out[SETTINGS_OPTIONS_MAX])
{
    const rf_setting *s;
    const char *topic = "";
    size_t n = 0;
    for (size_t i = 0; (s = rf_setting_at(i)) && n + 2 <= SETTINGS_OPTIONS_MAX; i++) {
        if (!s->option || (method && s->methods && !list_has(s->methods, method)))
            continue;
        if (strcmp(s->topic, topic) != 0)
            out[n++] = (option){.help = topic = s->topic};
        out[n++] = (option){.name = s->option,
                            .kind = OPTION_SETTING,
                            .value = text,
                            .setting = s,
                            .rare = !s->common,
                            .arg = s->kind == RF_SETTING_COUNT    ? "N"
                                   : s->kind == RF_SETTING_NUMBER ? "X"
                                                                  : NULL};
    }
    return n;
}
