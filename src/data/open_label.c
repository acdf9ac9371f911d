/* open_label.c - labels that people give to texts of no class */
#include "ringfence.h"

#include <ctype.h>
#include <string.h>

bool rf_label_means_open(const char *label)
{
    static const char *const usual[] = {
        "oos",         "ood",      "outofscope",
        "outofdomain", "none",     "noneoftheabove",
        "nlufallback", "fallback", "defaultfallbackintent",
        "nointent",    "unknown",  "unknownintent"};
    char plain[32];
    size_t n = 0;
    for (; *label; label++) { /* letters only, lower case */
        if (!isalpha((unsigned char)*label))
            continue;
        if (n + 1 == sizeof plain)
            return false;
        plain[n++] = (char)tolower((unsigned char)*label);
    }
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(plain, usual[i]) == 0)
            return true;
    return false;
}
