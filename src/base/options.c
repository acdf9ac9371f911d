/* options.c - option structs whose size the caller states */
#include "base/options.h"

#include <string.h>

rf_status rf_options_take(void *to, size_t to_size, const void *from, const char *name,
                          rf_error *err)
{
    size_t size;
    if (!from)
        return RF_OK;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%s: struct_size is %zu; start from %s_default()", name, size,
                       name);
    for (size_t i = to_size; i < size; i++)
        if (((const unsigned char *)from)[i] != 0)
            return rf_fail(err, RF_ERR_VERSION, 0,
                           "%s: the caller was compiled for a newer ringfence and sets "
                           "an option that version " RF_VERSION " does not have",
                           name);
    memcpy(to, from, size < to_size ? size : to_size);
    memcpy(to, &to_size, sizeof to_size);
    return RF_OK;
}

void rf_options_give(void *to, size_t size, const void *defaults, size_t defaults_size)
{
    memset(to, 0, size);
    memcpy(to, defaults, size < defaults_size ? size : defaults_size);
    memcpy(to, &size, sizeof size);
}
