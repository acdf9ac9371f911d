/* cmd_serve.c - the options of the service */
#include "commands.h"

#include "screen.h"
#include "serve/serve.h"

#include <stdio.h>

#define MEBI ((size_t)1 << 20)

static int serve_it(const command *self, int argc, char **argv)
{
    const char *path = NULL;
    size_t n;
    serve_options o = serve_options_default();
    const option options[] = {
        {.name = "listen",
         .kind = OPTION_TEXT,
         .value = &o.listen,
         .arg = "HOST:PORT",
         .help = "Where to listen (default 127.0.0.1:8080); [::1]:8080 for IPv6; port 0: "
                 "any that is free."},
        {.name = "workers",
         .kind = OPTION_SIZE,
         .value = &o.workers,
         .arg = "N",
         .help = "Batches that are worked on at the same time (default: one for "
                 "every 4 CPUs, or CPUs / threads).",
         .min = 1,
         .max = RF_MAX_THREADS},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &o.threads,
         .arg = "N",
         .help = "Threads for each batch (default: CPUs / workers).",
         .min = 1,
         .max = RF_MAX_THREADS},
        {.name = "batch-tokens",
         .kind = OPTION_SIZE,
         .value = &o.batch_tokens,
         .arg = "N",
         .help = "Tokens that a worker takes at once, about (default: 512 per thread).",
         .min = 1,
         .max = 1000000},
        {.help = "who may ask"},
        {.name = "token-file",
         .kind = OPTION_TEXT,
         .value = &o.token_file,
         .arg = "FILE",
         .help = "Ask for one of these bearer tokens, one per line."},
        {.name = "insecure",
         .kind = OPTION_FLAG,
         .value = &o.insecure,
         .help = "Listen beyond this machine without asking for a token."},
        {.name = "allow-origin",
         .kind = OPTION_TEXT,
         .value = &o.allow_origin,
         .arg = "ORIGIN",
         .help = "Let pages of this origin ask, too (CORS; default: none)."},
        {.name = "tls-cert",
         .kind = OPTION_TEXT,
         .value = &o.tls_cert,
         .arg = "FILE",
         .help = "HTTPS with this certificate chain (PEM)."},
        {.name = "tls-key",
         .kind = OPTION_TEXT,
         .value = &o.tls_key,
         .arg = "FILE",
         .help = "The key that belongs to it (PEM)."},
        {.help = "limits"},
        {.name = "max-body",
         .kind = OPTION_BYTES,
         .value = &o.max_body_bytes,
         .arg = "BYTES",
         .help = "Largest request (default 4M).",
         .min = 1024,
         .max = 1024 * MEBI},
        {.name = "max-text",
         .kind = OPTION_BYTES,
         .value = &o.max_text_bytes,
         .arg = "BYTES",
         .help = "Longest text (default 64K).",
         .min = 1,
         .max = RF_MAX_TEXT_BYTES},
        {.name = "max-texts",
         .kind = OPTION_SIZE,
         .value = &o.max_texts,
         .arg = "N",
         .help = "Most texts in a request (default 2048).",
         .min = 1,
         .max = 1000000},
        {.name = "queue",
         .kind = OPTION_SIZE,
         .value = &o.queue,
         .arg = "N",
         .help = "Most texts that wait (default 8192); with more the answer is 429.",
         .min = 1,
         .max = 10000000},
        {.name = "deadline",
         .kind = OPTION_REAL,
         .value = &o.deadline,
         .arg = "SECONDS",
         .help = "Longest time to an answer (default 30).",
         .least = 0.001,
         .most = 3600},
        {.name = "max-connections",
         .kind = OPTION_SIZE,
         .value = &o.max_connections,
         .arg = "N",
         .help = "Most connections at a time (default 4096).",
         .min = 1,
         .max = 1000000},
        {.name = "max-per-address",
         .kind = OPTION_SIZE,
         .value = &o.max_per_address,
         .arg = "N",
         .help = "Most connections of one client address (default 0: no limit).",
         .max = 1000000},
        {.name = "idle-timeout",
         .kind = OPTION_REAL,
         .value = &o.idle_timeout,
         .arg = "SECONDS",
         .help = "Close a connection without requests after this time (default 60).",
         .least = 0.1,
         .most = 86400},
        {.name = "receive-timeout",
         .kind = OPTION_REAL,
         .value = &o.receive_timeout,
         .arg = "SECONDS",
         .help = "Longest time for a request to arrive (default 20).",
         .least = 0.1,
         .most = 86400},
        {.name = "send-timeout",
         .kind = OPTION_REAL,
         .value = &o.send_timeout,
         .arg = "SECONDS",
         .help = "Longest time for an answer to be read (default 60).",
         .least = 0.1,
         .most = 86400},
        {.name = "drain",
         .kind = OPTION_REAL,
         .value = &o.drain,
         .arg = "SECONDS",
         .help = "After SIGTERM: longest time for what was begun (default 30).",
         .least = 0,
         .most = 3600},
        {.help = "log"},
        {.name = "access-log",
         .kind = OPTION_FLAG,
         .value = &o.access_log,
         .help = "A line for every request on standard error, without texts."},
        {.name = "log-texts",
         .kind = OPTION_FLAG,
         .value = &o.log_texts,
         .help = "Texts and answers on standard error, as JSON."},
    };
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          &path, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n == 0) {
        screen_complain("%s: which model? Wanted MODEL", self->name);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    o.model = path;
    return serve_run(&o, &err) == RF_OK ? 0 : command_failed(&err);
}

const command command_serve = {
    .name = "serve",
    .synopsis = "MODEL [OPTIONS]",
    .summary = "Answer over HTTP, with a page to try the model.",
    .details =
        "Listens until SIGTERM or Ctrl-C and then answers what was begun. GET / is a\n"
        "page for people; POST /v1/classify answers {\"text\": \"...\"} or\n"
        "{\"texts\": [...]} with what ringfence predict --json prints; /openapi.json\n"
        "describes all of it, and /metrics is for Prometheus.\n\n"
        "SIGHUP, or POST /v1/reload with a token, loads the model file again. No "
        "request\n"
        "is lost, and a bad file leaves the old model serving.\n\n"
        "Beyond the loopback interface a --token-file is needed. Texts are not logged\n"
        "unless --log-texts says so.",
    .run = serve_it,
};
