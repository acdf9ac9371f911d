#include "log.h"

#include <stdarg.h>
#include <stdio.h>

void log_line(const char *format, ...)
{
    char line[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "ringfence: %s\n", line); /* stdio locks the stream */
}

void log_raw(const char *bytes, size_t len)
{
    fprintf(stderr, "%.*s\n", (int)len, bytes);
}
