/* buffer.c - a growing block of bytes with a ceiling */
#include "base/buffer.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void rf_buffer_init(rf_buffer *b, size_t ceiling, const char *what)
{
    *b = (rf_buffer){.ceiling = ceiling, .what = what};
}

void rf_buffer_release(rf_buffer *b)
{
    free(b->data);
    b->data = NULL;
    b->len = b->cap = 0;
}

rf_status rf_buffer_reserve(rf_buffer *b, size_t n, rf_error *err)
{
    size_t need;
    if (!rf_size_add(b->len, n, &need) || need > b->ceiling)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%s: more than %zu bytes", b->what,
                       b->ceiling);
    if (need < b->cap) /* one byte stays free for the NUL */
        return RF_OK;
    size_t cap = b->cap ? b->cap : 256;
    while (cap <= need)
        cap += cap / 2;
    if (cap > b->ceiling + 1)
        cap = b->ceiling + 1;
    char *data = realloc(b->data, cap);
    if (!data)
        return rf_fail_nomem(err, cap, b->what);
    b->data = data;
    b->cap = cap;
    return RF_OK;
}

rf_status rf_buffer_add(rf_buffer *b, const void *bytes, size_t n, rf_error *err)
{
    rf_status st = rf_buffer_reserve(b, n, err);
    if (st != RF_OK)
        return st;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
    return RF_OK;
}
