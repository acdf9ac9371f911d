/* options.h - a table of options per command; parsing, --help and the man page use it */
#ifndef RF_CLI_OPTIONS_H
#define RF_CLI_OPTIONS_H

#include "ringfence.h"

typedef enum option_kind {
    OPTION_FLAG,    /* bool *value */
    OPTION_SIZE,    /* size_t *value, min..max */
    OPTION_BYTES,   /* size_t *value, min..max; "64K" is 65536, "4M" 4194304 */
    OPTION_FLOAT,   /* float *value, least..most */
    OPTION_REAL,    /* double *value, least..most */
    OPTION_SHARE,   /* double *value, least..most; "1%" is 0.01 */
    OPTION_TEXT,    /* const char **value */
    OPTION_TEXTS,   /* text_list *value; may be given several times */
    OPTION_CHOICE,  /* int *value: index into choices */
    OPTION_SETTING, /* settings_text *value: a setting of the library */
} option_kind;

/* Settings as given on the command line, "rho=1.5 epochs=3 ", for
 * rf_train_options.settings. */
typedef struct settings_text {
    char text[4096];
} settings_text;

/* What an option that may be repeated was given. */
#define TEXTS_MAX 64
typedef struct text_list {
    size_t n;
    const char *item[TEXTS_MAX];
} text_list;

typedef struct option {
    const char *name; /* without dashes; NULL: a heading, whose text is in help */
    char letter;      /* of the short form (-o), or 0 */
    option_kind kind;
    void *value;
    const char *arg;   /* shown in help: "N"; NULL for a flag */
    const char *help;  /* one sentence, default included */
    bool shows_number; /* help ends with " (default N).", N being *value */
    size_t min, max;
    double least, most;
    const char *const *choices; /* ends with NULL */
    const rf_setting *setting;  /* has help, default and range */
    bool rare;                  /* shown by --help all and the man page only */
} option;

typedef struct command {
    const char *name;     /* "embed" */
    const char *synopsis; /* "--encoder E [FILE|-]" */
    const char *summary;  /* one line */
    const char *details;  /* paragraphs separated by "\n\n", may be NULL */
    int (*run)(const struct command *self, int argc, char **argv);
} command;

typedef enum parse_result {
    PARSE_OK,
    PARSE_DONE, /* help was shown: exit 0 */
    PARSE_BAD,  /* an error was shown: exit 2 */
} parse_result;

bool options_is_help(const char *arg); /* "--help", "-h" */

/* argv[0] is the command's name. Options and positional arguments may be mixed; "--"
 * ends options; "-" is positional. Both "--name value" and "--name=value" work, and
 * "-o value" for an option with a letter. */
parse_result options_parse(const command *cmd, const option *options, size_t n_options,
                           int argc, char **argv, const char **positional,
                           size_t max_positional, size_t *n_positional);

/* --precision of the commands that answer: an int, by default 0 for fp32. */
extern const char *const precision_choices[];
#define PRECISION_OPTION(choice)                                                         \
    {                                                                                    \
        .name = "precision", .kind = OPTION_CHOICE, .value = (choice),                   \
        .arg = "fp32|int8",                                                              \
        .help = "How the encoder computes: in floating point (default), or in 8-bit "    \
                "integers, more than twice as fast and slightly less exact. Each gives " \
                "the same answers on every CPU.",                                        \
        .choices = precision_choices                                                     \
    }

/* --all-heads of the same commands: a bool. */
#define ALL_HEADS_OPTION(flag)                                                           \
    {                                                                                    \
        .name = "all-heads", .kind = OPTION_FLAG, .value = (flag),                       \
        .help = "Ask the networks of all classes about every text, not only the few "    \
                "that might decide the answer. Slow with many classes; for comparison."  \
    }

static inline rf_precision precision_of(int choice)
{
    return choice ? RF_PRECISION_INT8 : RF_PRECISION_FP32;
}

#endif
