/* changes.c - changes to a sealed file */
#include "changes.h"

#include <stdlib.h>
#include <string.h>

static void change(sealed *s, const uint8_t *how, size_t n)
{
    if (n > 1 && (how[0] == 'j' || how[0] == 'h')) {
        json_t *more = json_loadb((const char *)how + 1, n - 1, 0, NULL);
        if (json_is_object(more))
            json_object_update_recursive(how[0] == 'j' ? s->about : s->header, more);
        json_decref(more);
    } else {
        for (size_t i = 1; i + 4 <= n && s->n_data > 0; i += 4) {
            size_t at = how[i] | (size_t)how[i + 1] << 8 | (size_t)how[i + 2] << 16;
            s->data[at % s->n_data] = how[i + 3];
        }
    }
}

unsigned char *changes_apply(const sealed *good, const uint8_t *bytes, size_t len,
                             size_t *file_len)
{
    sealed s = {.header = json_deep_copy(good->header),
                .about = json_deep_copy(good->about),
                .data = malloc(good->n_data + 1),
                .n_data = good->n_data};
    if (!s.header || !s.about || !s.data)
        abort();
    memcpy(s.data, good->data, good->n_data);
    for (size_t i = 0; i < len;) {
        const uint8_t *end = memchr(bytes + i, 255, len - i);
        size_t n = end ? (size_t)(end - bytes) - i : len - i;
        if (n)
            change(&s, bytes + i, n);
        i += n + 1;
    }
    unsigned char *file = json_is_object(json_object_get(s.header, "__metadata__"))
                              ? sealed_put_together(&s, file_len)
                              : NULL;
    sealed_release(&s);
    return file;
}
