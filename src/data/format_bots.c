/*
 * format_bots.c - the JSON files of chatbot services
 *
 * LUIS   {"luis_schema_version": ..., "utterances": [{"text": ..., "intent": ...}]}
 * CLU    {"projectFileVersion": ..., "assets": {"utterances": [{"text": ...,
 *         "intent": ..., "dataset": "Train"}]}}; a data set is a part
 * Snips  {"intents": {"x": {"utterances": [{"data": [{"text": ...}, ...]}]}}}, and
 *        the older {"x": [{"data": [{"text": ...}, ...]}]}
 * Dialogflow  see bots.h; a text comes in pieces, as in Snips
 */
#include "data/bots.h"

#include <string.h>

/* ---- LUIS and CLU ------------------------------------------------------------------ */

static rf_status take_utterance(rf_rows *rows, rf_json_cursor *c, rf_error *err)
{
    rf_field key, text = {0}, intent = {0}, part = {0};
    rf_json_list l = {0};
    bool more, good = true;
    (void)rf_json_peek(c);
    size_t line = c->line;
    rf_status st;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more) {
        rf_field value;
        if ((st = rf_json_value(c, &value, err)) != RF_OK)
            return st;
        if (rf_field_is(key, "text"))
            text = value;
        else if (rf_field_is(key, "intent"))
            intent = value;
        else if (rf_field_is(key, "dataset") && value.kind == 0 && value.len > 0)
            part = value;
    }
    if (st != RF_OK || (part.data && !rf_rows_wants(rows, part)))
        return st;
    st = rf_json_check(rows, line, "text", text, false, &good, err);
    if (st == RF_OK && good)
        st = rf_json_check(rows, line, "intent", intent, true, &good, err);
    return st == RF_OK && good ? rf_rows_pair(rows, text, intent, line, err) : st;
}

static rf_status read_utterances(rf_rows *rows, rf_json_cursor *c, rf_error *err)
{
    rf_json_list l = {0};
    bool more;
    rf_status st;
    while ((st = rf_json_element(c, &l, &more, err)) == RF_OK && more)
        if ((st = take_utterance(rows, c, err)) != RF_OK)
            break;
    return st;
}

/* The utterances of an export, or of its "assets". */
static rf_status read_project(rf_rows *rows, rf_json_cursor *c, bool inside,
                              rf_error *err)
{
    rf_json_list l = {0};
    rf_field key;
    bool more;
    rf_status st;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more) {
        if (rf_field_is(key, "utterances"))
            st = read_utterances(rows, c, err);
        else if (rf_field_is(key, "assets") && !inside)
            st = read_project(rows, c, true, err);
        else
            st = rf_json_skip(c, err);
        if (st != RF_OK)
            break;
    }
    return st;
}

rf_status rf_read_luis(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err)
{
    (void)f;
    rf_json_cursor c;
    rf_status st = rf_document_start(&c, s, err);
    if (st == RF_OK)
        st = read_project(rows, &c, false, err);
    return st == RF_OK ? rf_json_finish(&c, err) : st;
}

/* ---- Texts in pieces --------------------------------------------------------------- */

/* Moves the "text" of a piece to the end of the text before it: both are in the same
 * bytes, which were walked through. */
static rf_status add_piece(rf_json_cursor *c, rf_field *text, rf_error *err)
{
    rf_field key, piece;
    rf_json_list l = {0};
    bool more;
    rf_status st;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more) {
        bool is_text = rf_field_is(key, "text");
        st = is_text ? rf_json_string(c, &piece, err) : rf_json_skip(c, err);
        if (st != RF_OK)
            return st;
        if (!is_text)
            continue;
        if (text->data)
            memmove((char *)(uintptr_t)text->data + text->len, piece.data, piece.len);
        else
            text->data = piece.data;
        text->len += piece.len;
    }
    return st;
}

rf_status rf_json_pieces(rf_json_cursor *c, rf_field *text, rf_error *err)
{
    rf_json_list l = {0};
    bool more;
    rf_status st;
    *text = (rf_field){0};
    while ((st = rf_json_element(c, &l, &more, err)) == RF_OK && more)
        if ((st = add_piece(c, text, err)) != RF_OK)
            break;
    if (st == RF_OK && !text->data)
        text->data = "";
    return st;
}

/* {"data": [{"text": ...}, ...], ...} */
static rf_status take_phrase(rf_rows *rows, rf_json_cursor *c, rf_field label,
                             const char *pieces, rf_error *err)
{
    rf_field key, text = {0};
    rf_json_list l = {0};
    bool more;
    rf_status st;
    (void)rf_json_peek(c);
    size_t line = c->line;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more) {
        st = rf_field_is(key, pieces) ? rf_json_pieces(c, &text, err)
                                      : rf_json_skip(c, err);
        if (st != RF_OK)
            return st;
    }
    if (st == RF_OK && !text.data)
        return rf_rows_bad(rows, RF_ERR_FORMAT, line, err,
                           "no \"%s\" in this object, wanted the pieces of a text",
                           pieces);
    return st == RF_OK ? rf_rows_pair(rows, text, label, line, err) : st;
}

rf_status rf_json_phrases(rf_rows *rows, rf_json_cursor *c, rf_field label,
                          const char *pieces, rf_error *err)
{
    rf_json_list l = {0};
    bool more;
    rf_status st;
    while ((st = rf_json_element(c, &l, &more, err)) == RF_OK && more)
        if ((st = take_phrase(rows, c, label, pieces, err)) != RF_OK)
            break;
    return st;
}

/* ---- Snips ------------------------------------------------------------------------- */

/* {"utterances": [...], ...} */
static rf_status take_intent(rf_rows *rows, rf_json_cursor *c, rf_field label,
                             rf_error *err)
{
    rf_field key;
    rf_json_list l = {0};
    bool more;
    rf_status st;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more) {
        st = rf_field_is(key, "utterances") ? rf_json_phrases(rows, c, label, "data", err)
                                            : rf_json_skip(c, err);
        if (st != RF_OK)
            break;
    }
    return st;
}

static rf_status read_intents(rf_rows *rows, rf_json_cursor *c, rf_error *err)
{
    rf_field key;
    rf_json_list l = {0};
    bool more;
    rf_status st;
    while ((st = rf_json_member(c, &l, &key, &more, err)) == RF_OK && more)
        if ((st = take_intent(rows, c, key, err)) != RF_OK)
            break;
    return st;
}

rf_status rf_read_snips(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err)
{
    (void)f;
    rf_json_cursor c;
    rf_field key;
    rf_json_list l = {0};
    bool more;
    rf_status st = rf_document_start(&c, s, err);
    while (st == RF_OK && (st = rf_json_member(&c, &l, &key, &more, err)) == RF_OK &&
           more) {
        if (rf_field_is(key, "intents") && rf_json_peek(&c) == '{')
            st = read_intents(rows, &c, err);
        else if (rf_json_peek(&c) == '[')
            st = rf_json_phrases(rows, &c, key, "data", err);
        else
            st = rf_json_skip(&c, err);
    }
    return st == RF_OK ? rf_json_finish(&c, err) : st;
}
