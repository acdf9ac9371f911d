/* fuzz_framing.c - the framing of requests: however they are cut into pieces, the same
 * requests pass, and the same one is refused */
#include "framing.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how long the pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    framing whole = {0}, cut = {0};
    if (size == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    size_t n = size - 1, piece = 1 + data[0] % 64, good = 0;
    size_t all = framing_read(&whole, bytes, n);
    for (size_t at = 0; at < n && !cut.fault; at += piece)
        good += framing_read(&cut, bytes + at, n - at < piece ? n - at : piece);
    if (whole.fault != cut.fault || whole.heads != cut.heads || good < all || good > n)
        abort();
    if (whole.fault ? framing_read(&whole, bytes, n) != 0 : all != n)
        abort();
    return 0;
}
