/*
 * problem.h - an error answer: status, code, message and place, all in one form
 *
 *   {"error": {"code": ..., "message": ..., "pointer": ...}}
 */
#ifndef RF_SERVE_PROBLEM_H
#define RF_SERVE_PROBLEM_H

#include "base/json_text.h"

#define POINTER_MAX 64

typedef struct problem {
    unsigned status;  /* of HTTP; 0: no problem */
    const char *code; /* one of those in docs/SERVE.md */
    char message[400];
    char pointer[POINTER_MAX]; /* into the request; "": all of it */
} problem;

/* Always false, for: return problem_set(...). */
bool problem_set(problem *p, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same with a pointer: "/texts/3". */
bool problem_at(problem *p, const char *pointer, unsigned status, const char *code,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The two kinds of 503; always false. "no memory for <what>" */
bool problem_shutting_down(problem *p);
bool problem_out_of_memory(problem *p, const char *what);

/* 429: requests and answers take too much memory together. Always false. */
bool problem_memory_full(problem *p);

/* A key as a JSON pointer (RFC 6901): "/" before it, "~" and "/" in it escaped. A long
 * one is cut, between two characters. */
void problem_pointer(char out[POINTER_MAX], const char *key);

/* An error of the library, as a problem of the server. */
void problem_from(problem *p, const rf_error *err);

void problem_write(const problem *p, rf_text *out);

#endif
