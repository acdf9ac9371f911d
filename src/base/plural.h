/* plural.h - "1 class", "2 classes" */
#ifndef RF_BASE_PLURAL_H
#define RF_BASE_PLURAL_H

#include <stddef.h>

/* The form of a noun or verb that fits n: printf("%zu %s", n, rf_plural(n, "row",
 * "rows")).
 */
static inline const char *rf_plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

#endif
