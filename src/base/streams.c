/* streams.c - keys of the random streams */
#include "base/streams.h"

#include "base/rng.h"

const rf_stream_row rf_stream_table[RF_STREAMS] = {
#define ROW(name, place, word, objective) {#name, RF_KEY_##place, word, objective},
    RF_STREAM_LIST(ROW)
#undef ROW
};

uint64_t rf_stream_key(uint64_t seed, rf_stream stream, uint64_t i, uint64_t j)
{
    uint64_t word = rf_stream_table[stream].word;
    return rf_stream_table[stream].place == RF_KEY_FIRST ? rf_rng_key(seed, word, i, j)
                                                         : rf_rng_key(seed, i, word, j);
}
