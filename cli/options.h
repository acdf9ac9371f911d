/*
 * options.h - one table per command; parsing, --help and the man page come from it
 */
#ifndef RF_CLI_OPTIONS_H
#define RF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum option_kind {
    OPTION_FLAG,   /* bool *value */
    OPTION_SIZE,   /* size_t *value, min..max */
    OPTION_BYTES,  /* size_t *value, min..max; "64K" is 65536, "4M" 4194304 */
    OPTION_FLOAT,  /* float *value, least..most */
    OPTION_REAL,   /* double *value, least..most */
    OPTION_SHARE,  /* double *value, least..most; "1%" is 0.01 */
    OPTION_TEXT,   /* const char **value */
    OPTION_CHOICE, /* int *value: index into choices */
} option_kind;

typedef struct option {
    const char *name; /* without dashes; NULL: a heading, its words are in help */
    char letter;      /* the short form -o, if there is one */
    option_kind kind;
    void *value;
    const char *arg;   /* shown in help: "N"; NULL for a flag */
    const char *help;  /* one sentence, default included */
    bool shows_number; /* help adds " (default N).", the number that *value holds */
    size_t min, max;
    double least, most;
    const char *const *choices; /* ends with NULL */
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
    PARSE_BAD,  /* complaint was shown: exit 2 */
} parse_result;

bool options_is_help(const char *arg); /* "--help", "-h" */

/* argv[0] is the command's name. Options and positional arguments may be mixed; "--"
 * ends options; "-" is positional. Both "--name value" and "--name=value" work, and
 * "-o value" for an option with a letter. */
parse_result options_parse(const command *cmd, const option *options, size_t n_options,
                           int argc, char **argv, const char **positional,
                           size_t max_positional, size_t *n_positional);

#endif
