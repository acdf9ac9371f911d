/*
 * format_bundles.c - members whose names hold the label: Dialogflow exports, folders
 */
#include "data/bots.h"
#include "data/bundle.h"

#include <string.h>

/* ---- Dialogflow -------------------------------------------------------------------- */

/* Label and language, from the name of a member. */
typedef struct phrases_name {
    rf_field label, language;
    bool cx;
} phrases_name;

/* What is after the last "intents/" that begins a name or follows a slash; else NULL. */
static const char *in_intents(const char *name)
{
    static const char folder[] = "intents/";
    const char *found = NULL;
    for (const char *p = name; (p = strstr(p, folder)); p++)
        if (p == name || p[-1] == '/')
            found = p + sizeof folder - 1;
    return found;
}

static bool split_name(const char *name, phrases_name *out)
{
    static const char es[] = "_usersays_", cx[] = "/trainingPhrases/", json[] = ".json";
    const char *label = in_intents(name), *cut = NULL;
    size_t len = strlen(name), n;
    if (!label || len < sizeof json || strcmp(name + len + 1 - sizeof json, json) != 0)
        return false;
    for (const char *p = label; (p = strstr(p, es)); p++)
        cut = p; /* the last */
    out->cx = !cut;
    cut = cut ? cut : strstr(label, cx);
    if (!cut || cut == label)
        return false;
    n = out->cx ? sizeof cx - 1 : sizeof es - 1;
    out->label = rf_text_field(label, (size_t)(cut - label));
    out->language =
        rf_text_field(cut + n, len + 1 - sizeof json - (size_t)(cut + n - name));
    return !memchr(out->label.data, '/', out->label.len) &&
           !memchr(out->language.data, '/', out->language.len);
}

bool rf_dialogflow_is(const char *name)
{
    phrases_name n;
    return split_name(name, &n);
}

/* {"trainingPhrases": [{"parts": [{"text": ...}]}]} */
static rf_status read_cx(rf_rows *rows, rf_json_cursor *c, rf_field label, rf_error *err)
{
    rf_field key;
    rf_json_list l = {0};
    bool more;
    rf_status st;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more) {
        st = rf_field_is(key, "trainingPhrases")
                 ? rf_json_phrases(rows, c, label, "parts", err)
                 : rf_json_skip(c, err);
        if (st != RF_OK)
            break;
    }
    return st;
}

rf_status rf_dialogflow_take(rf_rows *rows, const char *name, rf_source *s, rf_error *err)
{
    phrases_name n;
    rf_json_cursor c;
    if (!split_name(name, &n) || !rf_rows_wants(rows, n.language))
        return RF_OK;
    rf_status st = rf_document_start(&c, s, err);
    if (st == RF_OK)
        st = n.cx ? read_cx(rows, &c, n.label, err)
                  : rf_json_phrases(rows, &c, n.label, "data", err);
    return st == RF_OK ? rf_json_finish(&c, err) : st;
}

/* ---- Folders ----------------------------------------------------------------------- */

/* The folder of a .txt file. */
static bool split_folder(const char *name, rf_field *label)
{
    const char *slash = strrchr(name, '/'), *start;
    size_t len = strlen(name);
    if (!slash || slash == name || len < 5 || strcmp(name + len - 4, ".txt") != 0)
        return false;
    for (start = slash; start > name && start[-1] != '/'; start--)
        ;
    *label = rf_text_field(start, (size_t)(slash - start));
    return true;
}

bool rf_folders_is(const char *name)
{
    rf_field label;
    return split_folder(name, &label);
}

/* The whole file is one text, without the line end at its end. */
rf_status rf_folders_take(rf_rows *rows, const char *name, rf_source *s, rf_error *err)
{
    rf_field label;
    size_t len;
    rf_status st = rf_source_rest(s, err);
    if (st != RF_OK || !split_folder(name, &label))
        return st;
    const char *text = rf_source_data(s, &len);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    return rf_rows_pair(rows, rf_text_field(text ? text : "", len), label, 1, err);
}
