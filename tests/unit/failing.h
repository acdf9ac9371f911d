/*
 * failing.h - memory that runs out: every allocation of an operation made to fail in turn
 *
 * The operation must say RF_ERR_NOMEM, leave nothing behind (the address sanitizer
 * counts), and work again the next time.
 *
 * The linker sends our calls of malloc and its kin to failing.c (--wrap), and jansson is
 * told to use them. A run fails either the n-th allocation of ours alone, or the n-th of
 * all and every later one. jansson is spared the first kind: its lexer drops the byte for
 * which its buffer could not grow and reads on (2.14), which is harmless only if the next
 * request fails too. It asserts when it runs out inside a string, so operations that
 * write much JSON are spared the second kind.
 */
#ifndef RF_TEST_FAILING_H
#define RF_TEST_FAILING_H

#include "base/error.h"

typedef enum failing { NONE, ONE, ALL_FROM } failing;

typedef rf_status (*operation)(rf_error *err);

/* Once, before the first operation. */
void failing_set_up(void);
/* What the present run fails, and how many allocations it has seen. */
failing failing_mode(void);
size_t failing_count(void);

void fail_in_turn(operation run, failing mode, bool with_error);
/* In every way, with an rf_error and without. */
void fail_each(operation run);

/* For functions that return NULL: without an rf_error there is no more to know. */
rf_status status_of(const void *made, const rf_error *err);

/* How many entries a directory has. */
size_t files_in(const char *path);

#endif
