#include "options.h"

#include "screen.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_MAX 400

/* The sentence about an option, with the default that its value holds. */
static const char *help_text(const option *o, char text[HELP_MAX])
{
    if (!o->shows_number)
        return o->help;
    double v = o->kind == OPTION_SIZE    ? (double)*(size_t *)o->value
               : o->kind == OPTION_FLOAT ? (double)*(float *)o->value
                                         : *(double *)o->value;
    snprintf(text, HELP_MAX, "%s (default %g).", o->help, v);
    return text;
}

/* Words from column 27 on, no line longer than 90 columns unless a word is. */
static void show_wrapped(const char *text)
{
    enum { INDENT = 27, COLUMNS = 90 };
    size_t column = INDENT;
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, " ");
        if (!first && column + 1 + n > COLUMNS) {
            printf("\n%*s", INDENT, "");
            column = INDENT;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)n, text);
        column += n;
        text += n;
        text += *text == ' ';
    }
    putchar('\n');
}

static void show_option(const option *o)
{
    char left[64], letter[8] = "", text[HELP_MAX];
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->arg ? " " : "",
             o->arg ? o->arg : "");
    printf("  %-24s ", left);
    if (strlen(left) > 24)
        printf("\n%27s", "");
    show_wrapped(help_text(o, text));
}

static void show_help(const command *cmd, const option *options, size_t n)
{
    printf("usage: ringfence %s %s\n\n%s\n", cmd->name, cmd->synopsis, cmd->summary);
    if (cmd->details)
        printf("\n%s\n", cmd->details);
    printf("\noptions:\n  %-24s %s\n", "--help, -h", "Show this text.");
    for (size_t i = 0; i < n; i++) {
        if (options[i].name)
            show_option(&options[i]);
        else
            printf("\n%s:\n", options[i].help);
    }
}

/* Text for roff: a hyphen that is to be typed, and no line that begins with a dot. */
static void roff_part(const char *s, const char *end)
{
    for (bool start = true; s < end; start = *s == '\n', s++) {
        if (start && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        if (*s == '-')
            fputs("\\-", stdout);
        else if (*s == '\\')
            fputs("\\e", stdout);
        else
            putchar(*s);
    }
}

static void roff(const char *s)
{
    roff_part(s, strchr(s, '\0'));
}

/* Paragraphs; one with columns, which are set with blanks, keeps its lines. */
static void roff_paragraphs(const char *s)
{
    for (const char *end; *s; s = end + strspn(end, "\n")) {
        const char *blanks = strstr(s, "  ");
        end = strstr(s, "\n\n");
        end = end ? end : strchr(s, '\0');
        bool table = blanks && blanks < end;
        fputs(table ? ".PP\n.nf\n" : ".PP\n", stdout);
        roff_part(s, end);
        fputs(table ? "\n.fi\n" : "\n", stdout);
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
        roff_paragraphs(cmd->details);
    }
    printf("\n.SH OPTIONS\n.TP\n.B \\-\\-help, \\-h\nShow this as plain text.\n");
    for (size_t i = 0; i < n; i++) {
        const option *o = &options[i];
        char text[HELP_MAX];
        if (!o->name) {
            printf(".SS ");
            roff(o->help);
            putchar('\n');
            continue;
        }
        printf(".TP\n.B ");
        if (o->letter)
            printf("\\-%c, ", o->letter);
        printf("\\-\\-");
        roff(o->name);
        if (o->arg) {
            putchar(' ');
            roff(o->arg);
        }
        putchar('\n');
        roff(help_text(o, text));
        putchar('\n');
    }
    printf(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage; 130, 143, 129 stopped by "
           "Ctrl\\-C, SIGTERM, SIGHUP.\n.SH SEE ALSO\n.BR ringfence (1)\n");
}

/* "64K", "4M" */
static bool set_bytes(const command *cmd, const option *o, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift > 0;
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
        v <= SIZE_MAX >> shift && v << shift >= o->min && v << shift <= o->max) {
        *(size_t *)o->value = (size_t)(v << shift);
        return true;
    }
    screen_complain("%s: --%s is \"%s\", wanted bytes from %zu to %zu, such as 512, 64K "
                    "or 4M",
                    cmd->name, o->name, text, o->min, o->max);
    return false;
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

static bool set_real(const command *cmd, const option *o, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    /* Written so that "nan" fails; strtod would also take " 1" and "0x1". */
    if (*text && !strpbrk(text, " \t\n\v\f\rxX") && *end == '\0' && v >= o->least &&
        v <= o->most) {
        if (o->kind == OPTION_FLOAT)
            *(float *)o->value = (float)v;
        else
            *(double *)o->value = v;
        return true;
    }
    screen_complain("%s: --%s is \"%s\", wanted a number from %g to %g", cmd->name,
                    o->name, text, o->least, o->most);
    return false;
}

/* "1%", "0.01" */
static bool set_share(const command *cmd, const option *o, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    if (*end == '%') {
        v /= 100.0;
        end++;
    }
    if (*text && !strpbrk(text, " \t\n\v\f\rxX") && *end == '\0' && v >= o->least &&
        v <= o->most) {
        *(double *)o->value = v;
        return true;
    }
    screen_complain("%s: --%s is \"%s\", wanted a share from %g to %g, or %g%% to %g%%",
                    cmd->name, o->name, text, o->least, o->most, 100.0 * o->least,
                    100.0 * o->most);
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
    case OPTION_FLOAT:
    case OPTION_REAL: return set_real(cmd, o, text);
    case OPTION_BYTES: return set_bytes(cmd, o, text);
    case OPTION_SHARE: return set_share(cmd, o, text);
    case OPTION_CHOICE: return set_choice(cmd, o, text);
    }
    return false;
}

static const option *find(const option *options, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (options[i].name && strlen(options[i].name) == len &&
            memcmp(options[i].name, name, len) == 0)
            return &options[i];
    return NULL;
}

static const option *find_letter(const option *options, size_t n, const char *arg)
{
    for (size_t i = 0; i < n; i++)
        if (options[i].letter && arg[1] == options[i].letter && !arg[2])
            return &options[i];
    return NULL;
}

/* One argument that begins with "-"; *i moves on if it takes the next as its value. */
static bool take_option(const command *cmd, const option *options, size_t n, int argc,
                        char **argv, int *i)
{
    const char *arg = argv[*i], *equals = NULL;
    size_t len = strlen(arg);
    const option *o;
    if (arg[1] == '-') {
        equals = strchr(arg, '=');
        len = equals ? (size_t)(equals - arg) : len;
        o = find(options, n, arg + 2, len - 2);
    } else {
        o = find_letter(options, n, arg);
    }
    if (!o) {
        screen_complain("%s: no option %.*s (see ringfence %s --help)", cmd->name,
                        (int)len, arg, cmd->name);
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

bool options_is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

parse_result options_parse(const command *cmd, const option *options, size_t n_options,
                           int argc, char **argv, const char **positional,
                           size_t max_positional, size_t *n_positional)
{
    bool only_positional = false;
    *n_positional = 0;
    /* Help first: it shows defaults, which the options before it would change. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (options_is_help(argv[i])) {
            show_help(cmd, options, n_options);
            return PARSE_DONE;
        } else if (strcmp(argv[i], "--help-man") == 0) {
            show_man(cmd, options, n_options);
            return PARSE_DONE;
        }
    }
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!only_positional && strcmp(a, "--") == 0) {
            only_positional = true;
        } else if (!only_positional && a[0] == '-' && a[1]) {
            if (!take_option(cmd, options, n_options, argc, argv, &i))
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
