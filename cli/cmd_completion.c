/* cmd_completion.c - ringfence completion: scripts for the tab key */
#include "commands.h"

#include "completion.h"
#include "screen.h"

#include <string.h>

static int run_completion(const command *self, int argc, char **argv)
{
    const char *name = NULL;
    size_t n, all;
    switch (options_parse(self, NULL, 0, argc, argv, &name, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    for (int sh = 0; name && sh < SHELLS; sh++)
        if (strcmp(name, shell_names[sh]) == 0) {
            const command *const *commands = commands_all(&all);
            completion_put((shell)sh, commands, all);
            return command_finish();
        }
    screen_complain("%s: for which shell? Wanted bash, zsh or fish", self->name);
    return EXIT_USAGE;
}

const command command_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "Print a script that completes commands and options in a shell.",
    .details =
        "For one session: eval \"$(ringfence completion bash)\" in bash and zsh (after\n"
        "compinit), ringfence completion fish | source in fish. An installed ringfence\n"
        "brings the scripts to where the shells look for them.",
    .run = run_completion,
};
