/* json_text.c - writes JSON values to a stream */
#include "json_text.h"

#include "base/json_text.h"

#include <math.h>
#include <string.h>

static void write_bytes(void *user, const char *bytes, size_t len)
{
    fwrite(bytes, 1, len, user); /* a failure shows in ferror */
}

void json_put_string(FILE *to, const char *bytes, size_t len)
{
    rf_json_escape(bytes, len, write_bytes, to);
}

void json_put_name(FILE *to, const char *name)
{
    json_put_string(to, name, strlen(name));
}

void json_put_double(FILE *to, double v)
{
    if (isfinite(v))
        fprintf(to, "%.17g", v);
    else
        fputs("null", to);
}
