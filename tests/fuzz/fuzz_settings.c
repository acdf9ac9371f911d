/* fuzz_settings.c - files of settings: what is accepted is text that settings are read
 * from, and says the same when it is read again */
#include "settings/settings.h"

#include <ringfence.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool fine)
{
    if (!fine)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rf_error err = {0};
    char *text = NULL, *exact = malloc(size ? size : 1);
    must(exact);
    if (size)
        memcpy(exact, data, size);
    rf_status st = rf_settings_from_json(exact, size, "fuzz.json", &text, &err);
    free(exact);
    if (st != RF_OK) {
        must(!text && err.code == st && strstr(err.msg, "fuzz.json"));
        return 0;
    }
    rf_settings s = rf_settings_default();
    must(rf_settings_parse(&s, text, &err) == RF_OK);
    must(rf_settings_check(&s, &err) == RF_OK);
    free(text);
    return 0;
}
