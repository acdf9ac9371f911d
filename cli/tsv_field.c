/* tsv_field.c - quotes a field, as RFC 4180 does, if it would be read differently */
#include "tsv_field.h"

#include <string.h>

/* In TSV a quote inside a field is a character; other programs want it doubled in CSV. */
static bool needs_quotes(const char *text, size_t len, char separator)
{
    bool quote = len > 0 && text[0] == '"';
    for (size_t i = 0; i < len && !quote; i++)
        quote = text[i] == separator || text[i] == '\n' || text[i] == '\r' ||
                (text[i] == '"' && separator != '\t');
    return quote;
}

rf_status table_add_field(rf_buffer *line, const char *text, size_t len, char separator,
                          rf_error *err)
{
    bool quote = needs_quotes(text, len, separator);
    rf_status st = quote ? rf_buffer_add(line, "\"", 1, err) : RF_OK;
    for (size_t i = 0, n; i < len && st == RF_OK;
         i += n) { /* up to a quote, and with it */
        const char *mark = quote ? memchr(text + i, '"', len - i) : NULL;
        n = mark ? (size_t)(mark - text) - i + 1 : len - i;
        st = rf_buffer_add(line, text + i, n, err);
        if (st == RF_OK && mark)
            st = rf_buffer_add(line, "\"", 1, err);
    }
    return st == RF_OK && quote ? rf_buffer_add(line, "\"", 1, err) : st;
}

rf_status tsv_add_field(rf_buffer *line, const char *text, size_t len, char after,
                        rf_error *err)
{
    rf_status st = table_add_field(line, text, len, '\t', err);
    return st == RF_OK ? rf_buffer_add(line, &after, 1, err) : st;
}
