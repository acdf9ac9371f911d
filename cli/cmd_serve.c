/* cmd_serve.c - `ringfence serve`: the options of the service */
#include "commands.h"

#include "screen.h"
#include "serve/serve.h"

#include <stdio.h>
#include <string.h>

#define MEBI ((size_t)1 << 20)

static serve_options o; /* what the command line says */
static const char *port;
static int precision;

static const option options[] = {
    {.name = "listen",
     .kind = OPTION_TEXT,
     .value = &o.listen,
     .arg = "HOST:PORT",
     .help = "Where to listen (default 127.0.0.1:8080); [::1]:8080 for IPv6; port 0: "
             "any free port."},
    {.name = "port",
     .kind = OPTION_TEXT,
     .value = &port,
     .arg = "PORT",
     .help = "The same as --listen 127.0.0.1:PORT."},
    {.name = "workers",
     .kind = OPTION_SIZE,
     .value = &o.workers,
     .arg = "N",
     .help = "Batches processed at the same time (default: one per 4 CPUs, or CPUs / "
             "threads).",
     .min = 1,
     .max = RF_MAX_THREADS},
    {.name = "threads",
     .kind = OPTION_SIZE,
     .value = &o.threads,
     .arg = "N",
     .help = "Threads per worker (default: CPUs / workers).",
     .min = 1,
     .max = RF_MAX_THREADS},
    PRECISION_OPTION(&precision),
    ALL_HEADS_OPTION(&o.all_heads),
    {.name = "batch-tokens",
     .kind = OPTION_SIZE,
     .value = &o.batch_tokens,
     .arg = "N",
     .help = "Approximate tokens per batch (default: 512 per thread).",
     .min = 1,
     .max = 1000000},
    {.help = "access"},
    {.name = "token-file",
     .kind = OPTION_TEXT,
     .value = &o.token_file,
     .arg = "FILE",
     .help = "Require one of the bearer tokens in this file, one per line."},
    {.name = "insecure",
     .kind = OPTION_FLAG,
     .value = &o.insecure,
     .help = "Listen on other addresses than loopback without a token."},
    {.name = "allow-origin",
     .kind = OPTION_TEXT,
     .value = &o.allow_origin,
     .arg = "ORIGIN",
     .help = "Let pages of this origin call the service (CORS; default: none)."},
    {.name = "tls-cert",
     .kind = OPTION_TEXT,
     .value = &o.tls_cert,
     .arg = "FILE",
     .help = "Serve HTTPS with this certificate chain (PEM)."},
    {.name = "tls-key",
     .kind = OPTION_TEXT,
     .value = &o.tls_key,
     .arg = "FILE",
     .help = "The private key of the certificate (PEM)."},
    {.help = "limits"},
    {.name = "max-body",
     .kind = OPTION_BYTES,
     .value = &o.max_body_bytes,
     .arg = "BYTES",
     .help = "Maximum size of a request (default 4M).",
     .min = 1024,
     .max = 1024 * MEBI},
    {.name = "max-text",
     .kind = OPTION_BYTES,
     .value = &o.max_text_bytes,
     .arg = "BYTES",
     .help = "Maximum length of a text (default 64K).",
     .min = 1,
     .max = RF_MAX_TEXT_BYTES},
    {.name = "max-texts",
     .kind = OPTION_SIZE,
     .value = &o.max_texts,
     .arg = "N",
     .help = "Maximum texts in a request (default 2048).",
     .min = 1,
     .max = 1000000},
    {.name = "queue",
     .kind = OPTION_SIZE,
     .value = &o.queue,
     .arg = "N",
     .help = "Maximum texts waiting (default 8192); beyond it the answer is 429.",
     .min = 1,
     .max = 10000000},
    {.name = "deadline",
     .kind = OPTION_REAL,
     .value = &o.deadline,
     .arg = "SECONDS",
     .help = "Time limit for an answer (default 30).",
     .least = 0.001,
     .most = 3600},
    {.name = "max-connections",
     .kind = OPTION_SIZE,
     .value = &o.max_connections,
     .arg = "N",
     .help = "Maximum connections (default 4096).",
     .min = 1,
     .max = 1000000},
    {.name = "max-per-address",
     .kind = OPTION_SIZE,
     .value = &o.max_per_address,
     .arg = "N",
     .help = "Maximum connections per client address (default 0: no limit).",
     .max = 1000000},
    {.name = "idle-timeout",
     .kind = OPTION_REAL,
     .value = &o.idle_timeout,
     .arg = "SECONDS",
     .help = "Close a connection that has been idle this long (default 60).",
     .least = 0.1,
     .most = 86400},
    {.name = "receive-timeout",
     .kind = OPTION_REAL,
     .value = &o.receive_timeout,
     .arg = "SECONDS",
     .help = "Time limit for receiving a request (default 20).",
     .least = 0.1,
     .most = 86400},
    {.name = "send-timeout",
     .kind = OPTION_REAL,
     .value = &o.send_timeout,
     .arg = "SECONDS",
     .help = "Time limit for sending an answer (default 60).",
     .least = 0.1,
     .most = 86400},
    {.name = "drain",
     .kind = OPTION_REAL,
     .value = &o.drain,
     .arg = "SECONDS",
     .help = "Time limit for requests in progress after SIGTERM (default 30).",
     .least = 0,
     .most = 3600},
    {.help = "keeping texts (docs/SERVE.md says what, and what to tell people)"},
    {.name = "store",
     .kind = OPTION_TEXT,
     .value = &o.store,
     .arg = "FILE.db",
     .help = "Keep texts with their answers in this file (default: none are kept)."},
    {.name = "store-sample",
     .kind = OPTION_SHARE,
     .value = &o.store_sample,
     .arg = "SHARE",
     .help = "Share of the answers that are not open (default 0.1); open ones are all "
             "kept.",
     .least = 0,
     .most = 1},
    {.name = "store-days",
     .kind = OPTION_SIZE,
     .value = &o.store_days,
     .arg = "N",
     .help = "Delete texts after N days (default 30).",
     .min = 1,
     .max = 36500},
    {.name = "store-mb",
     .kind = OPTION_SIZE,
     .value = &o.store_mb,
     .arg = "N",
     .help = "Delete the oldest texts if the file exceeds N MiB (default 1024).",
     .min = 1,
     .max = 1000000},
    {.name = "store-hash",
     .kind = OPTION_FLAG,
     .value = &o.store_hash,
     .help = "Keep the sha256 of each text instead of the text."},
    {.name = "store-source",
     .kind = OPTION_TEXT,
     .value = &o.store_source,
     .arg = "NAME",
     .help = "Name of this service in the file (default serve)."},
    {.help = "log"},
    {.name = "access-log",
     .kind = OPTION_FLAG,
     .value = &o.access_log,
     .help = "Log a line per request to standard error, without texts."},
    {.name = "log-texts",
     .kind = OPTION_FLAG,
     .value = &o.log_texts,
     .help = "Log texts and answers to standard error, as JSON."},
};

static int run_serve(const command *self, int argc, char **argv)
{
    rf_error err = {0};
    size_t n;
    o = serve_options_default();
    const char *usual = o.listen;
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          &o.model, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n == 0) {
        screen_complain("%s: which model? Wanted MODEL", self->name);
        return EXIT_USAGE;
    }
    char address[64];
    if (port && o.listen != usual) {
        screen_complain("%s: --port and --listen contradict each other", self->name);
        return EXIT_USAGE;
    }
    if (port && (strlen(port) > 5 || !*port || port[strspn(port, "0123456789")])) {
        screen_complain("%s: --port is \"%s\", wanted a number from 0 to 65535",
                        self->name, port);
        return EXIT_USAGE;
    }
    snprintf(address, sizeof address, "127.0.0.1:%s", port ? port : "");
    if (port)
        o.listen = address;
    o.precision = precision_of(precision);
    return serve_run(&o, &err) == RF_OK ? 0 : command_failed(&err);
}

const command command_serve = {
    .name = "serve",
    .synopsis = "MODEL [OPTIONS]",
    .summary = "Answer over HTTP, with a page to try the model.",
    .details =
        "Runs until SIGTERM or Ctrl-C, then finishes the requests in progress. GET / is "
        "a\n"
        "page for people; POST /v1/classify answers {\"text\": \"...\"} or\n"
        "{\"texts\": [...]} with what ringfence predict --json prints; /openapi.json\n"
        "describes the whole interface, and /metrics is for Prometheus.\n\n"
        "SIGHUP, or POST /v1/reload with a token, reloads the model file. No request\n"
        "is lost, and a bad file leaves the old model in service.\n\n"
        "Listening beyond the loopback interface requires a --token-file. Texts are not\n"
        "logged without --log-texts, and not kept without --store.",
    .run = run_serve,
};
