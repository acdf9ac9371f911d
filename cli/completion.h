/* completion.h - what shells complete, from the same tables as --help */
#ifndef RF_CLI_COMPLETION_H
#define RF_CLI_COMPLETION_H

#include "options.h"

typedef enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELLS } shell;

/* "bash", "zsh", "fish" */
extern const char *const shell_names[SHELLS + 1]; /* ends with NULL */

/* Prints the part of a script that is about the options of a command. */
void completion_put_options(shell sh, const command *cmd, const option *options,
                            size_t n);

/* Prints the script for a shell. */
void completion_put(shell sh, const command *const *commands, size_t n);

/* The argument with which a command prints its part: --completion-bash. */
const char *completion_argument(shell sh);

#endif
