/* charmap.c - reads and walks a compiled table of replacements */
#include "text/charmap.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

static uint32_t little_endian(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

/* A hostile table could turn one character into a page. */
static rf_status check_text(const rf_charmap *map, const char *name, rf_error *err)
{
    size_t begin = 0;
    if (map->text[map->text_len - 1] != '\0')
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: the last replacement of precompiled_charsmap has no end",
                       name);
    for (size_t i = 0; i < map->text_len; i++) {
        if (map->text[i] != '\0')
            continue;
        if (i - begin > RF_CHARMAP_REPLACEMENT)
            return rf_fail(
                err, RF_ERR_LIMIT, 0,
                "%s: a replacement of %zu bytes in precompiled_charsmap, wanted "
                "up to %d",
                name, i - begin, RF_CHARMAP_REPLACEMENT);
        begin = i + 1;
    }
    return RF_OK;
}

static rf_status take(rf_charmap *map, const uint8_t *bytes, size_t len, const char *name,
                      rf_error *err)
{
    size_t trie = len >= 4 ? little_endian(bytes) : 0;
    if (len < 4 || trie == 0 || trie % 4 != 0 || trie >= len - 4)
        return rf_fail(
            err, RF_ERR_FORMAT, 0,
            "%s: precompiled_charsmap has %zu bytes with a trie of %zu, wanted "
            "whole units of 4 and replacements after them",
            name, len, trie);
    map->n_units = trie / 4;
    map->text_len = len - 4 - trie;
    map->units = malloc(trie);
    map->text = malloc(map->text_len);
    if (!map->units || !map->text)
        return rf_fail_nomem(err, len, "precompiled_charsmap");
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = little_endian(bytes + 4 + 4 * i);
    memcpy(map->text, bytes + 4 + trie, map->text_len);
    return check_text(map, name, err);
}

rf_status rf_charmap_init(rf_charmap *map, const char *base64, size_t len,
                          const char *name, rf_error *err)
{
    *map = (rf_charmap){0};
    if (len == 0)
        return RF_OK;
    struct base64_decode_ctx ctx;
    size_t n = BASE64_DECODE_LENGTH(len);
    uint8_t *bytes = malloc(n);
    if (!bytes)
        return rf_fail_nomem(err, n, "precompiled_charsmap");
    base64_decode_init(&ctx);
    rf_status st =
        base64_decode_update(&ctx, &n, bytes, len, base64) && base64_decode_final(&ctx)
            ? take(map, bytes, n, name, err)
            : rf_fail(err, RF_ERR_FORMAT, 0, "%s: precompiled_charsmap is not base64",
                      name);
    free(bytes);
    if (st != RF_OK)
        rf_charmap_release(map);
    return st;
}

void rf_charmap_release(rf_charmap *map)
{
    free(map->units);
    free(map->text);
    *map = (rf_charmap){0};
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

size_t rf_charmap_match(const rf_charmap *map, const char *text, size_t len,
                        const char **replacement, size_t *replacement_len)
{
    size_t best = 0;
    if (!map->units)
        return 0;
    if (len > RF_CHARMAP_KEY)
        len = RF_CHARMAP_KEY;
    size_t children = offset_of(map->units[0]);
    for (size_t i = 0; i < len; i++) {
        uint32_t c = (unsigned char)text[i];
        size_t place = children ^ c;
        if (place >= map->n_units || (map->units[place] & (1u << 31 | 0xff)) != c)
            break;
        children = place ^ offset_of(map->units[place]);
        if (!(map->units[place] & 1u << 8))
            continue;
        uint32_t value =
            children < map->n_units ? map->units[children] & ~(1u << 31) : UINT32_MAX;
        if (value >= map->text_len)
            break; /* not a table that the trainer made */
        best = i + 1;
        *replacement = map->text + value;
    }
    if (best > 0)
        *replacement_len = strlen(*replacement);
    return best;
}
