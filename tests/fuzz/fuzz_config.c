/* fuzz_config.c - config.json of an encoder: what is accepted keeps to the limits */
#include "encoder/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rf_config c;
    rf_error err = {0};
    char *exact = malloc(size ? size : 1);
    if (!exact)
        return 0;
    if (size)
        memcpy(exact, data, size);
    rf_status st = rf_config_parse(&c, exact, size, "fuzz", &err);
    free(exact);
    bool fine = st == RF_OK ? c.layers > 0 && c.heads > 0 && c.width % c.heads == 0 &&
                                  c.positions >= 2 && c.eps >= 0 && c.eps <= 1
                            : err.code == st && err.msg[0];
    if (!fine)
        abort();
    return 0;
}
