/* main.c - the ringfence program: its table of commands, help, and what commands share */
#include "commands.h"

#include "base/file.h"
#include "ringfence_encoder.h"
#include "screen.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const command *const commands[] = {
    &command_check,    &command_convert, &command_train,   &command_tune,
    &command_update,   &command_predict, &command_eval,    &command_fence,
    &command_compare,  &command_report,  &command_review,  &command_accept,
    &command_serve,    &command_store,   &command_drift,   &command_inspect,
    &command_tokenize, &command_embed,   &command_encoder, &command_completion,
#ifndef RF_WITHOUT_LAB /* the lab sees inside the library, the rest does not */
    &command_lab,
#endif
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

const command *const *commands_all(size_t *n)
{
    *n = N_COMMANDS;
    return commands;
}

int command_failed(const rf_error *err)
{
    screen_complain("%s", err->msg[0] ? err->msg : rf_status_name(err->code));
    return err->code == RF_ERR_ARG ? EXIT_USAGE : EXIT_FAILED;
}

int command_finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    screen_complain("standard output: cannot write: %s", strerror(errno));
    return EXIT_FAILED;
}

bool command_would_overwrite(const char *output, const char *input)
{
    struct stat x, y;
    if (!output || !input || strcmp(output, "-") == 0)
        return false;
    bool piped = strcmp(input, "-") == 0; /* < FILE */
    if (!piped && strcmp(output, input) == 0)
        return true; /* even if neither exists yet */
    return stat(output, &x) == 0 &&
           (piped ? fstat(STDIN_FILENO, &y) : stat(input, &y)) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

rf_status command_can_write(const char *output, rf_error *err)
{
    rf_new_file file = {0};
    rf_status st = rf_new_file_open(&file, output, err);
    rf_new_file_abandon(&file);
    return st;
}

rf_status command_encoder_dir(const char *name, char dir[RF_PATH_MAX], rf_error *err)
{
    return rf_encoder_path(name ? name : "minilm", dir, RF_PATH_MAX, err);
}

static void show_help(void)
{
    printf("usage: ringfence COMMAND [ARGUMENTS]\n\n"
           "Text classification that knows what it does not know.\n\ncommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf(
        "\nringfence COMMAND --help says more; ringfence --version shows the version.\n");
}

static void show_man(void)
{
    printf(
        ".TH RINGFENCE 1\n.SH NAME\nringfence \\- text classification that knows what it "
        "does not know\n.SH SYNOPSIS\n.B ringfence\nCOMMAND [ARGUMENTS]\n.SH COMMANDS\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf(".TP\n.BR ringfence\\-%s (1)\n%s\n", commands[i]->name,
               commands[i]->summary);
    printf(".SH ENVIRONMENT\n.TP\n.B RINGFENCE_CACHE\nWhere encoders are kept; else "
           "$XDG_CACHE_HOME/ringfence or ~/.cache/ringfence.\n.TP\n.B HF_ENDPOINT, "
           "HF_TOKEN, "
           "SSL_CERT_FILE, SSL_CERT_DIR\nSee\n.BR ringfence\\-encoder (1).\n.TP\n"
           ".B RINGFENCE_KERNELS\n"
           "\"portable\" forces the kernels in plain C; also avx2, avxvnni, avx512, "
           "avx512vnni. The answers are the same.\n.SH EXIT STATUS\n0 done, 1 failed, "
           "2 wrong usage; 130, 143, 129 stopped by Ctrl\\-C, SIGTERM, SIGHUP.\n");
}

/* Occupies the number of a closed standard stream, so that the next file we open, perhaps
 * a model, does not get it and receive our messages. Using the stream still fails. */
static void reserve_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* the lowest free: fd */
}

/* A mapped file has become shorter than it was. */
static void die_of_short_file(int number)
{
    static const char words[] = "ringfence: a model, encoder or data file in use was cut "
                                "short, or its disk cannot be read\n";
    (void)number;
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    _exit(EXIT_FAILED);
}

static void set_up_signals(void)
{
    signal(SIGBUS, die_of_short_file);
    signal(SIGXFSZ, SIG_IGN); /* a file above the size limit is an error of write() */
}

static int no_such_command(const char *name)
{
    suggestion s = {.word = name, .len = strlen(name)};
    for (size_t i = 0; i < N_COMMANDS; i++)
        suggest(&s, commands[i]->name);
    if (s.best)
        screen_complain("no command \"%s\"; did you mean %s?", name, s.best);
    else
        screen_complain("no command \"%s\" (see ringfence --help)", name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    reserve_standard_streams();
    set_up_signals();
    if (argc < 2) {
        show_help();
        return EXIT_USAGE;
    }
    if (options_is_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        bool all = argc == 4 && strcmp(argv[3], "all") == 0;
        if (argc == 3 || all) { /* help train */
            argv[1] = argv[2];
            argv[2] = "--help";
        } else {
            show_help();
            return command_finish();
        }
    }
    if (strcmp(argv[1], "--help-man") == 0) {
        show_man();
        return command_finish();
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("ringfence %s (%s kernels)\n", rf_version(), rf_kernels_name());
        return command_finish();
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return commands[i]->run(commands[i], argc - 1, argv + 1);
    return no_such_command(argv[1]);
}
