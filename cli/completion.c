/*
 * completion.c - completion for bash, zsh and fish
 *
 * A command knows its options only while it runs. So each is run with the argument
 * --completion-SHELL, at which options_parse prints the part about it.
 */
#include "completion.h"

#include <stdio.h>
#include <string.h>

const char *const shell_names[SHELLS + 1] = {"bash", "zsh", "fish", NULL};

const char *completion_argument(shell sh)
{
    static const char *const arguments[SHELLS] = {"--completion-bash", "--completion-zsh",
                                                  "--completion-fish"};
    return arguments[sh];
}

/* Prints text inside single quotes of a shell, without characters that mean something to
 * it or to zsh's _arguments. */
static void put_plain(const char *text)
{
    for (; *text; text++)
        putchar(strchr("'[]:\\`$\n", *text) ? ' ' : *text);
}

static const char *help_of(const option *o)
{
    return o->kind == OPTION_SETTING ? o->setting->help : o->help;
}

static void put_choices(const option *o)
{
    for (size_t i = 0; o->choices[i]; i++)
        printf("%s%s", i ? " " : "", o->choices[i]);
}

static bool has_choices(const option *o)
{
    return o->kind == OPTION_CHOICE;
}

/* ---- bash -------------------------------------------------------------------------- */

static void bash_options(const command *cmd, const option *options, size_t n)
{
    printf("_ringfence_options[%s]='--help", cmd->name);
    for (size_t i = 0; i < n; i++)
        if (options[i].name)
            printf(" --%s", options[i].name);
    printf("'\n");
    for (size_t i = 0; i < n; i++) {
        if (!options[i].name || !has_choices(&options[i]))
            continue;
        printf("_ringfence_values['%s --%s']='", cmd->name, options[i].name);
        put_choices(&options[i]);
        printf("'\n");
    }
}

static void bash_script(void)
{
    fputs("_ringfence() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local cmd=${COMP_WORDS[1]} words=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words=$_ringfence_commands\n"
          "    elif [ -n \"${_ringfence_values[$cmd $prev]}\" ]; then\n"
          "        words=${_ringfence_values[$cmd $prev]}\n"
          "    elif [[ $cur == -* ]]; then\n"
          "        words=${_ringfence_options[$cmd]}\n"
          "    elif [ \"$cmd\" = help ]; then\n"
          "        words=$_ringfence_commands\n"
          "    elif [ \"$cmd\" = completion ]; then\n"
          "        words='bash zsh fish'\n"
          "    fi\n"
          "    COMPREPLY=()\n"
          "    [ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "}\n"
          "complete -o default -F _ringfence ringfence\n",
          stdout);
}

/* ---- zsh --------------------------------------------------------------------------- */

static void zsh_options(const command *cmd, const option *options, size_t n)
{
    printf("    %s)\n        _arguments '--help[Show help]'", cmd->name);
    for (size_t i = 0; i < n; i++) {
        const option *o = &options[i];
        if (!o->name)
            continue;
        printf(" \\\n            '--%s%s[", o->name, o->arg ? "=" : "");
        put_plain(help_of(o));
        putchar(']');
        if (o->arg) {
            putchar(':');
            put_plain(o->arg);
            putchar(':');
            if (has_choices(o)) {
                putchar('(');
                put_choices(o);
                putchar(')');
            } else {
                fputs("_files", stdout);
            }
        }
        putchar('\'');
    }
    printf(" \\\n            '*:file:_files' ;;\n");
}

static void zsh_start(const command *const *commands, size_t n)
{
    printf("#compdef ringfence\n_ringfence() {\n"
           "    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < n; i++) {
        printf("        '%s:", commands[i]->name);
        put_plain(commands[i]->summary);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n        return\n    fi\n"
           "    local cmd=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
           "    case $cmd in\n");
}

/* As an autoloaded function, or sourced. */
static void zsh_end(void)
{
    printf("    *) _files ;;\n    esac\n}\n"
           "if [ \"$funcstack[1]\" = _ringfence ]; then\n    _ringfence \"$@\"\n"
           "else\n    compdef _ringfence ringfence\nfi\n");
}

/* ---- fish -------------------------------------------------------------------------- */

static void fish_options(const command *cmd, const option *options, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const option *o = &options[i];
        if (!o->name)
            continue;
        printf("complete -c ringfence -n '__fish_seen_subcommand_from %s' -l %s",
               cmd->name, o->name);
        if (o->letter)
            printf(" -s %c", o->letter);
        if (has_choices(o)) {
            printf(" -x -a '");
            put_choices(o);
            printf("'");
        } else if (o->arg) {
            printf(" -r");
        }
        printf(" -d '");
        put_plain(help_of(o));
        printf("'\n");
    }
}

static void fish_start(const command *const *commands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("complete -c ringfence -n __fish_use_subcommand -f -a %s -d '",
               commands[i]->name);
        put_plain(commands[i]->summary);
        printf("'\n");
    }
}

/* ---- All --------------------------------------------------------------------------- */

void completion_put_options(shell sh, const command *cmd, const option *options, size_t n)
{
    switch (sh) {
    case SHELL_BASH: bash_options(cmd, options, n); break;
    case SHELL_ZSH: zsh_options(cmd, options, n); break;
    default: fish_options(cmd, options, n);
    }
}

static void bash_start(const command *const *commands, size_t n)
{
    printf("declare -A _ringfence_options _ringfence_values\n_ringfence_commands='");
    for (size_t i = 0; i < n; i++)
        printf("%s ", commands[i]->name);
    printf("help --help --version'\n");
}

void completion_put(shell sh, const command *const *commands, size_t n)
{
    if (sh == SHELL_BASH)
        bash_start(commands, n);
    else if (sh == SHELL_ZSH)
        zsh_start(commands, n);
    else
        fish_start(commands, n);
    for (size_t i = 0; i < n; i++) {
        char name[32], argument[32];
        char *argv[] = {name, argument, NULL};
        snprintf(name, sizeof name, "%s", commands[i]->name);
        snprintf(argument, sizeof argument, "%s", completion_argument(sh));
        commands[i]->run(commands[i], 2, argv);
    }
    if (sh == SHELL_BASH)
        bash_script();
    else if (sh == SHELL_ZSH)
        zsh_end();
}
