/*
 * integer.h - matrices W [out, in] in 8 bits, in the form that the integer product takes
 * (kernels.h)
 *
 * Each output has its own scale, its largest |w| / 127, and w becomes the nearest of
 * -127..127 times that.
 */
#ifndef RF_NUM_INTEGER_H
#define RF_NUM_INTEGER_H

#include "num/kernels.h"

/* The largest `in` whose sums of up to 255 * 127 each, outliers 255 * 2^14, surely fit
 * 32 bits. */
#define RF_INTEGER_MAX_IN 32768

/* n outputs rounded up to whole panels. */
static inline size_t rf_integer_padded(size_t n)
{
    return (n + RF_WIDE - 1) / RF_WIDE * RF_WIDE;
}

/* Bytes of the packed form. */
static inline size_t rf_integer_bytes(size_t out, size_t in)
{
    return rf_integer_padded(out) * ((in + RF_QUAD - 1) / RF_QUAD * RF_QUAD);
}

/* From the float panels of W (panels.h), all finite: b has rf_integer_bytes, scale is
 * [out]. */
void rf_integer_pack(uint8_t *b, float *scale, const float *panels, size_t out,
                     size_t in);

#endif
