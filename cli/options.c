/* options.c - parses the options of a command and prints its --help and man page */
#include "options.h"

#include "base/plural.h"
#include "completion.h"
#include "screen.h"
#include "suggest.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_MAX 400

/* "lof, knn: neighbours (default: 20; knn 10)." */
static const char *setting_help(const rf_setting *s, char text[HELP_MAX])
{
    size_t n = 0;
    text[0] = '\0';
    if (s->methods && strncmp(s->methods, "ans", 3) != 0) {
        for (const char *m = s->methods; *m && n + 4 < HELP_MAX; m++) {
            if (*m == ' ')
                text[n++] = ',';
            text[n++] = *m;
        }
        n += (size_t)snprintf(text + n, HELP_MAX - n, ": ");
    }
    if (s->kind == RF_SETTING_FLAG)
        snprintf(text + n, HELP_MAX - n, "%s.", s->help);
    else if (s->automatic)
        snprintf(text + n, HELP_MAX - n, "%s (default: %s).", s->help, s->automatic);
    else
        snprintf(text + n, HELP_MAX - n, "%s (default %g).", s->help, s->preset);
    return text;
}

/* The help of an option, with its default. */
static const char *help_text(const option *o, char text[HELP_MAX])
{
    if (o->kind == OPTION_SETTING)
        return setting_help(o->setting, text);
    if (!o->shows_number)
        return o->help;
    double v = o->kind == OPTION_SIZE    ? (double)*(size_t *)o->value
               : o->kind == OPTION_FLOAT ? (double)*(float *)o->value
                                         : *(double *)o->value;
    snprintf(text, HELP_MAX, "%s (default %g).", o->help, v);
    return text;
}

/* Prints text from column 27 on, wrapped at 90 columns. */
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

/* The number of options from o to the next heading that help shows. */
static size_t count_shown(const option *o, const option *end, bool all)
{
    size_t n = 0;
    for (; o < end && o->name; o++)
        n += all || !o->rare;
    return n;
}

static void show_help(const command *cmd, const option *options, size_t n, bool all)
{
    const option *end = options + n;
    size_t hidden = 0;
    for (const option *o = options; o < end; o++)
        hidden += o->name && o->rare && !all;
    printf("usage: ringfence %s %s\n\n%s\n", cmd->name, cmd->synopsis, cmd->summary);
    if (cmd->details) { /* in short help: the first paragraph */
        const char *cut = hidden ? strstr(cmd->details, "\n\n") : NULL;
        size_t len = cut ? (size_t)(cut - cmd->details) : strlen(cmd->details);
        printf("\n%.*s\n", (int)len, cmd->details);
    }
    printf("\noptions:\n  %-24s %s\n", "--help, -h", "Show this text.");
    for (const option *o = options; o < end; o++) {
        if (!o->name && count_shown(o + 1, end, all) > 0)
            printf("\n%s:\n", o->help);
        else if (o->name && (all || !o->rare))
            show_option(o);
    }
    if (hidden > 0)
        printf("\nringfence %s --help all says more and shows %zu more %s.\n", cmd->name,
               hidden, rf_plural(hidden, "option", "options"));
}

/* Escapes text for roff: hyphens, backslashes, and dots that begin a line. */
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

/* Paragraphs; one with columns (two blanks in a row) keeps its lines. */
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
            if (count_shown(o + 1, options + n, true) > 0) {
                printf(".SS ");
                roff(o->help);
                putchar('\n');
            }
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
    screen_complain("%s: --%s is \"%s\", wanted a size from %zu to %zu bytes, such as "
                    "512, 64K or 4M",
                    cmd->name, o->name, text, o->min, o->max);
    return false;
}

static bool add_text(const command *cmd, const option *o, const char *text)
{
    text_list *list = o->value;
    if (list->n < TEXTS_MAX) {
        list->item[list->n++] = text;
        return true;
    }
    screen_complain("%s: --%s was given more than %d times", cmd->name, o->name,
                    TEXTS_MAX);
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

/* Checks the value here, where the error can name the option, and appends it to the text
 * for the library. */
static bool set_setting(const command *cmd, const option *o, const char *text)
{
    const rf_setting *s = o->setting;
    settings_text *to = o->value;
    size_t count, used = strlen(to->text);
    double number;
    option as = {.name = o->name,
                 .kind = OPTION_REAL,
                 .value = &number,
                 .least = s->min,
                 .most = s->max};
    if (s->kind == RF_SETTING_COUNT) {
        as.value = &count;
        as.min = (size_t)s->min;
        as.max = (size_t)s->max;
    }
    if (s->kind == RF_SETTING_FLAG)
        text = s->preset != 0.0 ? "0" : "1";
    else if (!(s->kind == RF_SETTING_COUNT ? set_size : set_real)(cmd, &as, text))
        return false;
    if (used + strlen(s->name) + strlen(text) + 3 > sizeof to->text) {
        screen_complain("%s: --%s: too many settings; wanted at most %zu bytes of "
                        "names and values",
                        cmd->name, o->name, sizeof to->text);
        return false;
    }
    snprintf(to->text + used, sizeof to->text - used, "%s=%s ", s->name, text);
    return true;
}

static bool set_value(const command *cmd, const option *o, const char *text)
{
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)o->value = true; return true;
    case OPTION_TEXT: *(const char **)o->value = text; return true;
    case OPTION_TEXTS: return add_text(cmd, o, text);
    case OPTION_SIZE: return set_size(cmd, o, text);
    case OPTION_FLOAT:
    case OPTION_REAL: return set_real(cmd, o, text);
    case OPTION_BYTES: return set_bytes(cmd, o, text);
    case OPTION_SHARE: return set_share(cmd, o, text);
    case OPTION_CHOICE: return set_choice(cmd, o, text);
    case OPTION_SETTING: return set_setting(cmd, o, text);
    }
    return false;
}

static const option *find_name(const option *options, size_t n, const char *name,
                               size_t len)
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

static bool no_such_option(const command *cmd, const option *options, size_t n,
                           const char *arg, size_t len)
{
    suggestion s = {.word = arg + 2, .len = len > 2 ? len - 2 : 0};
    for (size_t i = 0; arg[1] == '-' && i < n; i++)
        if (options[i].name)
            suggest(&s, options[i].name);
    if (s.best)
        screen_complain("%s: no option %.*s; did you mean --%s?", cmd->name, (int)len,
                        arg, s.best);
    else
        screen_complain("%s: no option %.*s (see ringfence %s --help)", cmd->name,
                        (int)len, arg, cmd->name);
    return false;
}

/* Parses argv[*i], which begins with "-"; advances *i if the next argument is its value.
 */
static bool parse_option(const command *cmd, const option *options, size_t n, int argc,
                         char **argv, int *i)
{
    const char *arg = argv[*i], *equals = NULL;
    size_t len = strlen(arg);
    const option *o;
    if (arg[1] == '-') {
        equals = strchr(arg, '=');
        len = equals ? (size_t)(equals - arg) : len;
        o = find_name(options, n, arg + 2, len - 2);
    } else {
        o = find_letter(options, n, arg);
    }
    if (!o)
        return no_such_option(cmd, options, n, arg, len);
    const char *value = equals ? equals + 1 : NULL;
    if (!o->arg && value) {
        screen_complain("%s: --%s takes no value", cmd->name, o->name);
        return false;
    }
    if (o->arg && !value) {
        if (*i + 1 >= argc) {
            screen_complain("%s: --%s needs a value: %s", cmd->name, o->name, o->arg);
            return false;
        }
        value = argv[++*i];
    }
    return set_value(cmd, o, value);
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
    /* Help first: it shows defaults, which options before it would change. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (options_is_help(argv[i])) {
            bool all = i + 1 < argc && strcmp(argv[i + 1], "all") == 0;
            show_help(cmd, options, n_options, all);
            return PARSE_DONE;
        } else if (strcmp(argv[i], "--help-man") == 0) {
            show_man(cmd, options, n_options);
            return PARSE_DONE;
        }
        for (int sh = 0; sh < SHELLS; sh++)
            if (strcmp(argv[i], completion_argument((shell)sh)) == 0) {
                completion_put_options((shell)sh, cmd, options, n_options);
                return PARSE_DONE;
            }
    }
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!only_positional && strcmp(a, "--") == 0) {
            only_positional = true;
        } else if (!only_positional && a[0] == '-' && a[1]) {
            if (!parse_option(cmd, options, n_options, argc, argv, &i))
                return PARSE_BAD;
        } else if (*n_positional == max_positional) {
            screen_complain("%s: unexpected argument \"%s\" (usage: ringfence %s %s)",
                            cmd->name, a, cmd->name, cmd->synopsis);
            return PARSE_BAD;
        } else {
            positional[(*n_positional)++] = a;
        }
    }
    return PARSE_OK;
}

const char *const precision_choices[] = {"fp32", "int8", NULL};
