#include "options.h"

#include "screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show_help(const command *cmd, const option *options, size_t n)
{
    printf("usage: ringfence %s %s\n\n%s\n", cmd->name, cmd->synopsis, cmd->summary);
    if (cmd->details)
        printf("\n%s\n", cmd->details);
    printf("\noptions:\n");
    for (size_t i = 0; i < n; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", options[i].name,
                 options[i].arg ? " " : "", options[i].arg ? options[i].arg : "");
        printf("  %-24s %s\n", left, options[i].help);
    }
    printf("  %-24s %s\n", "--help", "Show this text.");
}

/* Text for roff: a hyphen that is to be typed, and no line that begins with a dot. */
static void roff(const char *s)
{
    for (bool start = true; *s; start = *s == '\n', s++) {
        if (start && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        if (*s == '-')
            fputs("\\-", stdout);
        else if (*s == '\\')
            fputs("\\e", stdout);
        else if (s[0] == '\n' && s[1] == '\n') {
            fputs("\n.PP\n", stdout);
            s++;
        } else
            putchar(*s);
    }
}

static void show_man(const command *cmd, const option *options, size_t n)
{
    printf(".TH RINGFENCE\\-%s 1\n.SH NAME\nringfence\\-%s \\- ", cmd->name, cmd->name);
    roff(cmd->summary);
    printf("\n.SH SYNOPSIS\n.B ringfence %s\n", cmd->name);
    roff(cmd->synopsis);
    if (cmd->details) {
        printf("\n.SH DESCRIPTION\n");
        roff(cmd->details);
    }
    printf("\n.SH OPTIONS\n");
    for (size_t i = 0; i < n; i++) {
        printf(".TP\n.B \\-\\-");
        roff(options[i].name);
        if (options[i].arg) {
            putchar(' ');
            roff(options[i].arg);
        }
        putchar('\n');
        roff(options[i].help);
        putchar('\n');
    }
    printf(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n.SH SEE ALSO\n"
           ".BR ringfence (1)\n");
}

static bool set_size(const command *cmd, const option *o, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && v >= o->min &&
        v <= o->max) {
        *(size_t *)o->value = (size_t)v;
        return true;
    }
    screen_complain("%s: --%s is \"%s\", wanted a whole number from %zu to %zu",
                    cmd->name, o->name, text, o->min, o->max);
    return false;
}

static bool set_choice(const command *cmd, const option *o, const char *text)
{
    char all[200] = "";
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *(int *)o->value = i;
            return true;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", o->choices[i]);
    }
    screen_complain("%s: --%s is \"%s\", wanted one of: %s", cmd->name, o->name, text,
                    all);
    return false;
}

static bool set(const command *cmd, const option *o, const char *text)
{
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)o->value = true; return true;
    case OPTION_TEXT: *(const char **)o->value = text; return true;
    case OPTION_SIZE: return set_size(cmd, o, text);
    case OPTION_CHOICE: return set_choice(cmd, o, text);
    }
    return false;
}

static const option *find(const option *options, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
            return &options[i];
    return NULL;
}

/* One argument that begins with "--"; *i moves on if it takes the next as its value. */
static bool take_option(const command *cmd, const option *options, size_t n, int argc,
                        char **argv, int *i)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const option *o = find(options, n, name, len);
    if (!o) {
        screen_complain("%s: no option --%.*s (see ringfence %s --help)", cmd->name,
                        (int)len, name, cmd->name);
        return false;
    }
    const char *value = equals ? equals + 1 : NULL;
    if (o->kind == OPTION_FLAG && value) {
        screen_complain("%s: --%s takes no value", cmd->name, o->name);
        return false;
    }
    if (o->kind != OPTION_FLAG && !value) {
        if (*i + 1 >= argc) {
            screen_complain("%s: --%s wants a value: %s", cmd->name, o->name, o->arg);
            return false;
        }
        value = argv[++*i];
    }
    return set(cmd, o, value);
}

parse_result options_parse(const command *cmd, const option *options, size_t n_options,
                           int argc, char **argv, const char **positional,
                           size_t max_positional, size_t *n_positional)
{
    bool only_positional = false;
    *n_positional = 0;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!only_positional && strcmp(a, "--") == 0) {
            only_positional = true;
        } else if (!only_positional && strcmp(a, "--help") == 0) {
            show_help(cmd, options, n_options);
            return PARSE_DONE;
        } else if (!only_positional && strcmp(a, "--help-man") == 0) {
            show_man(cmd, options, n_options);
            return PARSE_DONE;
        } else if (!only_positional && a[0] == '-' && a[1] == '-') {
            if (!take_option(cmd, options, n_options, argc, argv, &i))
                return PARSE_BAD;
        } else if (!only_positional && a[0] == '-' && a[1]) {
            screen_complain("%s: no option %s (see ringfence %s --help)", cmd->name, a,
                            cmd->name);
            return PARSE_BAD;
        } else if (*n_positional == max_positional) {
            screen_complain("%s: one argument too many: \"%s\" (usage: ringfence %s %s)",
                            cmd->name, a, cmd->name, cmd->synopsis);
            return PARSE_BAD;
        } else {
            positional[(*n_positional)++] = a;
        }
    }
    return PARSE_OK;
}
