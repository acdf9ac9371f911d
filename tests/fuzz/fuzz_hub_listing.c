/* fuzz_hub_listing.c - the hub's description of a repository */
#include "encoder/hub_listing.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Printable ASCII only, or the bytes would reach a terminal. */
static void want_plain(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text >= 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rf_hub_listing l;
    bool wanted[RF_HUB_FILES];
    rf_error err = {0};
    rf_status st = rf_hub_listing_parse(&l, (const char *)data, size, "input", &err);
    if (st != err.code || (st != RF_OK && !err.msg[0]))
        abort();
    if (st != RF_OK)
        return 0;
    if (!rf_hub_is_commit(l.commit) || (l.id[0] && !rf_hub_name_like(l.id)))
        abort();
    want_plain(l.licence);
    want_plain(l.language);
    st = rf_hub_listing_choose(&l, wanted, "input", &err);
    for (size_t i = 0; st == RF_OK && i < RF_HUB_FILES; i++) {
        const rf_hub_entry *e = &l.files[i];
        if (wanted[i] && (!e->there || e->size < -1 || e->size > rf_hub_kinds[i].max ||
                          (e->sha256[0] && strlen(e->sha256) != RF_SHA256_HEX - 1) ||
                          (e->git[0] && !rf_hub_is_commit(e->git))))
            abort();
    }
    return 0;
}
