/* feature_output.c - writes rows of features to stdout, as TSV or as a NumPy array */
#include "feature_output.h"

#include "base/numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NPY_HEADER 128

static rf_status write_failed(const feature_output *o, rf_error *err)
{
    return rf_fail_errno(err, o->to == stdout ? "standard output: cannot write"
                                              : "temporary file: cannot write");
}

static rf_status put_bytes(feature_output *o, const void *bytes, size_t n, rf_error *err)
{
    return fwrite(bytes, 1, n, o->to) == n ? RF_OK : write_failed(o, err);
}

/* Magic, version 1.0, length of the rest, a Python literal padded with spaces. */
static void npy_header(char h[NPY_HEADER], size_t rows, size_t width)
{
    memset(h, ' ', NPY_HEADER);
    memcpy(h, "\x93NUMPY\x01\x00", 8);
    h[8] = (char)(NPY_HEADER - 10);
    h[9] = 0;
    char text[NPY_HEADER - 10];
    int n = snprintf(text, sizeof text,
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }",
                     rows, width);
    memcpy(h + 10, text, (size_t)n);
    h[NPY_HEADER - 1] = '\n';
}

rf_status feature_output_open(feature_output *o, feature_format format, size_t width,
                              rf_error *err)
{
    *o = (feature_output){.format = format, .width = width, .to = stdout, .start = -1};
    o->line = malloc(width * (RF_NUMBER_MAX + 1));
    if (!o->line)
        return rf_fail_nomem(err, width * (RF_NUMBER_MAX + 1), "a line of output");
    if (format == FEATURES_TSV)
        return RF_OK;
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    o->start = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    if (flags < 0 || flags & O_APPEND)
        o->start = -1;
    if (o->start >= 0) {
        char header[NPY_HEADER];
        npy_header(header, 0, width);
        return put_bytes(o, header, sizeof header, err);
    }
    o->to = tmpfile();
    if (o->to)
        return RF_OK;
    o->to = stdout;
    return rf_fail_errno(err, "cannot make a temporary file");
}

rf_status feature_output_add(feature_output *o, const float *row, rf_error *err)
{
    o->rows++;
    if (o->format == FEATURES_NPY)
        return put_bytes(o, row, o->width * sizeof *row, err);
    char *p = o->line;
    for (size_t i = 0; i < o->width; i++) {
        p += rf_number_write(p, row[i]);
        *p++ = i + 1 < o->width ? '\t' : '\n';
    }
    return put_bytes(o, o->line, (size_t)(p - o->line), err);
}

rf_status feature_output_flush(feature_output *o, rf_error *err)
{
    return fflush(o->to) == 0 ? RF_OK : write_failed(o, err);
}

/* Copies the temporary file to stdout, after the header. */
static rf_status copy_to_stdout(feature_output *o, rf_error *err)
{
    char block[1 << 16];
    FILE *from = o->to;
    rf_status st = RF_OK;
    rewind(from);
    o->to = stdout;
    npy_header(block, o->rows, o->width);
    st = put_bytes(o, block, NPY_HEADER, err);
    for (size_t n; st == RF_OK && (n = fread(block, 1, sizeof block, from)) > 0;)
        st = put_bytes(o, block, n, err);
    if (st == RF_OK && ferror(from))
        st = rf_fail_errno(err, "temporary file: cannot read");
    fclose(from);
    return st == RF_OK ? feature_output_flush(o, err) : st;
}

rf_status feature_output_close(feature_output *o, rf_error *err)
{
    rf_status st = feature_output_flush(o, err);
    if (st != RF_OK || o->format == FEATURES_TSV)
        return st;
    if (o->to != stdout)
        return copy_to_stdout(o, err);
    char header[NPY_HEADER];
    npy_header(header, o->rows, o->width);
    if (pwrite(STDOUT_FILENO, header, sizeof header, (off_t)o->start) != NPY_HEADER)
        return rf_fail_errno(err, "standard output: cannot write the header");
    return RF_OK;
}

void feature_output_release(feature_output *o)
{
    if (o->to && o->to != stdout)
        fclose(o->to);
    free(o->line);
    *o = (feature_output){0};
}
