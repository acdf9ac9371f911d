/* controls.c - takes control characters out of text that is shown to people */
#include "base/controls.h"

char *rf_replace_controls(char *text, size_t len, char with)
{
    unsigned char *c = (unsigned char *)text, *end = c + len;
    for (; c < end; c++) {
        if (c[0] == 0xc2 && end - c > 1 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = (unsigned char)with;
        else if (*c < 0x20 || *c == 0x7f)
            *c = (unsigned char)with;
    }
    return text;
}
