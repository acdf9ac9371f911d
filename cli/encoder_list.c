/* encoder_list.c - ringfence encoder list: the catalogue, and what came from the hub */
#include "encoder_list.h"

#include "ringfence_encoder.h"
#include "ringfence_hub.h"

#include <stdio.h>

static int print_hub_encoder(void *user, const rf_hub_encoder *e)
{
    bool *any = user;
    if (!*any)
        printf("\nFrom the Hugging Face hub:\n\n");
    *any = true;
    printf("%s\n", e->name);
    printf("%-12s commit %.12s; %s; language %s; %.0f MB; %s\n", "", e->commit,
           e->licence[0] ? e->licence : "no licence named",
           e->language[0] ? e->language : "not named", (double)e->bytes / 1e6, e->dir);
    return 0;
}

rf_status encoder_list_print(rf_error *err)
{
    bool any = false;
    for (size_t i = 0; rf_catalogue(i); i++) {
        const rf_catalogue_entry *e = rf_catalogue(i);
        char dir[RF_PATH_MAX];
        bool here = rf_encoder_path(e->name, dir, sizeof dir, NULL) == RF_OK;
        printf("%-12s %s\n", e->alias ? e->alias : e->name, e->title);
        if (e->alias)
            printf("%-12s the same as %s\n", "", e->name);
        printf("%-12s %s; language: %s; speed: %s; %s; %u MB to download; %s\n", "",
               e->note, e->language ? e->language : "not stated",
               e->speed ? e->speed : "not measured", e->licence, e->download_mb,
               here ? dir : "not in the cache");
    }
    rf_status st = rf_hub_cached(print_hub_encoder, &any, err);
    printf(
        "\nAny BERT encoder of the Hugging Face hub: ringfence encoder get OWNER/NAME, "
        "then\n--encoder OWNER/NAME. For one that you have, in the same layout "
        "(config.json,\nmodel.safetensors, vocab.txt or tokenizer.json), give its "
        "directory: --encoder\npath/to/bert-base-uncased. To turn an ONNX export into "
        "such a directory: ringfence\nencoder import model.onnx DIR\n");
    return st;
}
