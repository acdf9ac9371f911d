/* problem.c - filling a problem, and writing it as JSON */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

static void fill(problem *p, const char *pointer, unsigned status, const char *code,
                 const char *format, va_list args)
{
    p->status = status;
    p->code = code;
    snprintf(p->pointer, sizeof p->pointer, "%s", pointer);
    vsnprintf(p->message, sizeof p->message, format, args);
}

bool problem_set(problem *p, unsigned status, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(p, "", status, code, format, args);
    va_end(args);
    return false;
}

bool problem_at(problem *p, const char *pointer, unsigned status, const char *code,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(p, pointer, status, code, format, args);
    va_end(args);
    return false;
}

bool problem_shutting_down(problem *p)
{
    return problem_set(p, 503, "shutting_down", "the service is stopping");
}

bool problem_memory_full(problem *p)
{
    return problem_set(p, 429, "queue_full",
                       "too many requests and answers are in memory; try again later");
}

bool problem_out_of_memory(problem *p, const char *what)
{
    return problem_set(p, 503, "out_of_memory", "no memory for %s", what);
}

void problem_pointer(char out[POINTER_MAX], const char *key)
{
    size_t n = 0, whole = 0; /* bytes written; and of complete characters */
    out[n++] = '/';
    for (const unsigned char *c = (const unsigned char *)key; *c; c++) {
        if ((*c & 0xc0) != 0x80)
            whole = n;
        if (n + 3 > POINTER_MAX) {
            n = whole;
            break;
        }
        if (*c == '~' || *c == '/') {
            out[n++] = '~';
            out[n++] = *c == '~' ? '0' : '1';
        } else
            out[n++] = (char)*c;
    }
    out[n] = '\0';
}

void problem_from(problem *p, const rf_error *err)
{
    if (err->code == RF_ERR_NOMEM)
        problem_set(p, 503, "out_of_memory", "%s", err->msg);
    else
        problem_set(p, 500, "internal", "%s", err->msg);
}

void problem_write(const problem *p, rf_text *out)
{
    rf_text_put(out, "{\"error\": {\"code\": ");
    rf_text_name(out, p->code);
    rf_text_put(out, ", \"message\": ");
    rf_text_name(out, p->message);
    rf_text_put(out, ", \"pointer\": ");
    rf_text_name(out, p->pointer);
    rf_text_put(out, "}}");
}
