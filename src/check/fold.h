/*
 * fold.h - texts and labels without what does not matter when they are compared
 */
#ifndef RF_CHECK_FOLD_H
#define RF_CHECK_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The characters of a text in lower case, with one space for any white space and none at
 * the ends; control characters are dropped, and what is not UTF-8 becomes U+FFFD, as for
 * the encoder. words_only: punctuation counts as white space. Stops at cap; returns the
 * number, at most len. */
size_t rf_fold_text(const char *text, size_t len, bool words_only, int32_t *out,
                    size_t cap);

/* A label without case, spacing and punctuation, of which # % & * @ are kept, because
 * "C" is not "C#", and what stands before a digit if it may matter: "-1" is not "1" and
 * "1.1" is not "11". out has room for len + 1; returns the number. */
size_t rf_fold_label(const char *label, size_t len, int32_t *out);

#endif
