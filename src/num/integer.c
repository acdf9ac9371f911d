/* integer.c - weights to 8 bits */
#include "num/integer.h"

#include <string.h>

/* Sets scale and 1 / scale of the outputs of a float panel [in][16]. */
static void panel_scales(float scale[RF_PANEL], float by[RF_PANEL], const float *panel,
                         size_t in)
{
    float top[RF_PANEL] = {0};
    for (size_t i = 0; i < in; i++, panel += RF_PANEL)
        for (size_t j = 0; j < RF_PANEL; j++) {
            float size = panel[j] < 0.0f ? -panel[j] : panel[j];
            top[j] = size > top[j] ? size : top[j];
        }
    for (size_t j = 0; j < RF_PANEL; j++) {
        bool some = top[j] >= RF_QUANTISE_LEAST;
        scale[j] = some ? top[j] / 127.0f : 0.0f;
        by[j] = some ? 127.0f / top[j] : 0.0f;
    }
}

void rf_integer_pack(uint8_t *b, float *scale, const float *panels, size_t out, size_t in)
{
    size_t depth = (in + RF_QUAD - 1) / RF_QUAD * RF_QUAD;
    memset(b, 128, rf_integer_bytes(out, in));
    for (size_t j0 = 0; j0 < out; j0 += RF_PANEL) {
        const float *panel = panels + j0 * in;
        float all[RF_PANEL], by[RF_PANEL];
        panel_scales(all, by, panel, in);
        memcpy(scale + j0, all,
               (out - j0 < RF_PANEL ? out - j0 : RF_PANEL) * sizeof(float));
        uint8_t *to = b + j0 / RF_WIDE * RF_WIDE * depth + j0 % RF_WIDE * RF_QUAD;
        for (size_t i = 0; i < in; i++, panel += RF_PANEL) {
            uint8_t *four = to + i / RF_QUAD * RF_QUAD * RF_WIDE + i % RF_QUAD;
            for (size_t j = 0; j < RF_PANEL; j++) /* nearest, to even in the middle */
                four[j * RF_QUAD] =
                    (uint8_t)(128 +
                              (int32_t)((panel[j] * by[j] + 0x1.8p23f) - 0x1.8p23f));
        }
    }
}
