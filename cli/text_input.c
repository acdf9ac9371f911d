/* text_input.c - gathers texts from a file of any format */
#include "text_input.h"

#include "ringfence_data.h"
#include "screen.h"

#include <stdlib.h>
#include <string.h>

static rf_status add_text(void *user, const rf_table_row *row, rf_error *err)
{
    text_input *in = user;
    rf_field text = row->fields[row->text];
    rf_status st = text.len ? rf_buffer_add(&in->bytes, text.data, text.len, err) : RF_OK;
    in->n += st == RF_OK;
    return st == RF_OK
               ? rf_buffer_add(&in->ends, &in->bytes.len, sizeof in->bytes.len, err)
               : st;
}

static rf_status make_list(text_input *in, rf_error *err)
{
    const size_t *ends = (const size_t *)(const void *)in->ends.data;
    in->texts = calloc(in->n, sizeof *in->texts);
    in->lens = calloc(in->n, sizeof *in->lens);
    if (!in->texts || !in->lens)
        return rf_fail_nomem(err, in->n * sizeof *in->texts, "texts");
    for (size_t i = 0; i < in->n; i++) {
        size_t from = i ? ends[i - 1] : 0;
        in->texts[i] = in->bytes.data ? in->bytes.data + from : "";
        in->lens[i] = ends[i] - from;
    }
    return RF_OK;
}

rf_status text_input_read(text_input *in, const char *path, const data_options *d,
                          rf_error *err)
{
    rf_data_options o;
    rf_table_end end;
    *in = (text_input){0};
    rf_status st = data_options_of(d, &o, err);
    if (st != RF_OK)
        return st;
    o.texts_only = true;
    rf_buffer_init(&in->bytes, SIZE_MAX / 4, "texts");
    rf_buffer_init(&in->ends, SIZE_MAX / 4, "texts");
    st = rf_table_read(path, &o, add_text, in, &end, err);
    if (st == RF_OK)
        st = make_list(in, err);
    if (st != RF_OK)
        text_input_release(in);
    else
        data_report_skipped(path, &end);
    return st;
}

void text_input_release(text_input *in)
{
    rf_buffer_release(&in->bytes);
    rf_buffer_release(&in->ends);
    free(in->texts);
    free(in->lens);
    *in = (text_input){0};
}
