/* commands.h - the commands of the program, one cmd_*.c each, and what they share */
#ifndef RF_CLI_COMMANDS_H
#define RF_CLI_COMMANDS_H

#include "base/error.h"
#include "options.h"

extern const command command_check;
extern const command command_completion;
extern const command command_convert;
extern const command command_train;
extern const command command_tune;
extern const command command_update;
extern const command command_predict;
extern const command command_eval;
extern const command command_fence;
extern const command command_compare;
extern const command command_report;
extern const command command_review;
extern const command command_accept;
extern const command command_serve;
extern const command command_store;
extern const command command_drift;
extern const command command_inspect;
extern const command command_tokenize;
extern const command command_embed;
extern const command command_encoder;
extern const command command_lab;

/* All of them, in the order of help. */
const command *const *commands_all(size_t *n);

#define EXIT_FAILED 1
#define EXIT_USAGE 2

/* Prints a library error and returns the exit code for it. */
int command_failed(const rf_error *err);

/* Flushes stdout and checks that everything was written; returns the exit code. */
int command_finish(void);

/* Whether the two paths are the same file, so that writing output would destroy input.
 * Either may be NULL or not exist; input "-" is standard input, output "-" standard
 * output. */
bool command_would_overwrite(const char *output, const char *input);

/* Checks that a file of this name can be created, before hours of work depend on it. It
 * is not left behind. */
rf_status command_can_write(const char *output, rf_error *err);

/* The directory of --encoder: a catalogue name, a directory, or OWNER/NAME of the hub;
 * NULL: minilm. */
rf_status command_encoder_dir(const char *name, char dir[RF_PATH_MAX], rf_error *err);

#endif
