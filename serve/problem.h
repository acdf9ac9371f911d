/*
 * problem.h - what is wrong with a request, in the one shape that errors have
 *
 *   {"error": {"code": ..., "message": ..., "pointer": ...}}
 */
#ifndef RF_SERVE_PROBLEM_H
#define RF_SERVE_PROBLEM_H

#include "base/json_text.h"

#define POINTER_MAX 64

typedef struct problem {
    unsigned status;  /* of HTTP; 0: nothing is wrong */
    const char *code; /* a fixed word, docs/SERVE.md */
    char message[400];
    char pointer[POINTER_MAX]; /* into the request; "": the whole */
} problem;

/* Fills it and returns false, so that a reader can say: return problem_set(...). */
bool problem_set(problem *p, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same with a place: "/texts/3". */
bool problem_at(problem *p, const char *pointer, unsigned status, const char *code,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* 503, as the service is ending. */
void problem_shutting_down(problem *p);

/* A key as a JSON pointer (RFC 6901): "/" before it, "~" and "/" in it escaped. One that
 * is too long is cut between two characters. */
void problem_pointer(char out[POINTER_MAX], const char *key);

/* What the library said, as a problem of the server. */
void problem_from(problem *p, const rf_error *err);

void problem_write(const problem *p, rf_text *out);

#endif
