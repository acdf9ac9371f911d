/*
 * methods.h - the list of all methods
 *
 * To add one, define `const rf_method rf_method_NAME` (open/method.h) in
 * src/methods/NAME.c and add a row here.
 */
#ifndef RF_METHODS_METHODS_H
#define RF_METHODS_METHODS_H

#include "open/method.h"

/* In the order in which tables list them. */
/* clang-format off */
#define RF_METHODS(row) \
    row(msp) \
    row(msp_neg) \
    row(doc) \
    row(openmax) \
    row(lof) \
    row(deepunk) \
    row(adb) \
    row(adb_neg) \
    row(da_adb) \
    row(selfsup) \
    row(convex) \
    row(knncl) \
    row(knn) \
    row(mahalanobis) \
    row(nearest_text) \
    row(whitened_mean) \
    row(ovr) \
    row(heads) \
    row(ans)
/* clang-format on */

#define RF_DECLARE_METHOD(name) extern const rf_method rf_method_##name;
RF_METHODS(RF_DECLARE_METHOD)
#undef RF_DECLARE_METHOD

const rf_method *const *rf_methods(void); /* ends with NULL */

/* NULL if there is no such method; the default method if name is NULL. */
const rf_method *rf_method_find(const char *name);

#endif
