/* commands.h - the commands of the program, one file each */
#ifndef RF_CLI_COMMANDS_H
#define RF_CLI_COMMANDS_H

#include "base/error.h"
#include "options.h"

extern const command command_train;
extern const command command_tune;
extern const command command_predict;
extern const command command_eval;
extern const command command_report;
extern const command command_serve;
extern const command command_inspect;
extern const command command_tokenize;
extern const command command_embed;
extern const command command_encoder;
extern const command command_lab;

#define EXIT_FAILED 1
#define EXIT_USAGE 2

/* Show a library error and return the exit code for it. */
int command_failed(const rf_error *err);

/* Flush stdout and see that everything arrived; returns the exit code. */
int command_finish(void);

/* Would writing to output destroy what is read from, or also written to, input? Either
 * may be NULL or lead nowhere; input "-" is standard input, output "-" standard output.
 */
bool command_would_overwrite(const char *output, const char *input);

/* An hour of work is not to be lost for a wrong path: can a file of this name be made? It
 * is not there afterwards. */
rf_status command_can_write(const char *output, rf_error *err);

/* --encoder: catalogue name or directory -> directory, RF_OK or an error to show. */
rf_status command_encoder_dir(const char *name, char dir[RF_PATH_MAX], rf_error *err);

#endif
