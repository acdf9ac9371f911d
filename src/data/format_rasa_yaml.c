/*
 * format_rasa_yaml.c - the training data of Rasa 2 and 3, read by libyaml
 *
 *   nlu:
 *   - intent: greet
 *     examples: |
 *       - hello
 *       - good morning from [Paris](city)
 *
 * The examples may also be a list of texts, or of mappings with a "text". Everything else
 * in the file is passed over. Events are read one by one, so that neither nesting nor
 * aliases can make memory grow.
 */
#include "data/formats.h"

#include "data/rasa.h"

#include <string.h>
#include <yaml.h>

#define DEPTH 64

typedef struct yaml {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool has_event;
    const char *name;
    rf_rows *rows;
    char label[RF_MAX_LABEL_BYTES + 2];
    size_t label_len;
    bool has_label;
} yaml;

static size_t line_of(const yaml *y)
{
    return y->event.start_mark.line + 1;
}

static rf_status next_event(yaml *y, rf_error *err)
{
    if (y->has_event)
        yaml_event_delete(&y->event);
    y->has_event = yaml_parser_parse(&y->parser, &y->event);
    if (y->has_event && y->event.type == YAML_ALIAS_EVENT)
        return rf_fail(err, RF_ERR_FORMAT, line_of(y),
                       "%s: line %zu: an alias (*name), which is not read here", y->name,
                       line_of(y));
    if (y->has_event)
        return RF_OK;
    if (y->parser.error == YAML_MEMORY_ERROR)
        return rf_fail_nomem(err, sizeof *y, "reading YAML");
    size_t line = y->parser.problem_mark.line + 1;
    return rf_fail(err, RF_ERR_FORMAT, line, "%s: line %zu: not valid YAML: %s", y->name,
                   line, y->parser.problem ? y->parser.problem : "cannot be read");
}

/* Passes over the node of which the current event is the first. */
static rf_status skip_node(yaml *y, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t depth = 0; st == RF_OK; st = next_event(y, err)) {
        yaml_event_type_t type = y->event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth == 0)
            break;
        if (depth > DEPTH)
            return rf_fail(err, RF_ERR_LIMIT, line_of(y),
                           "%s: line %zu: YAML of more than %d levels", y->name,
                           line_of(y), DEPTH);
    }
    return st;
}

static bool is_scalar(const yaml *y, const char *value)
{
    return y->event.type == YAML_SCALAR_EVENT &&
           strcmp((const char *)y->event.data.scalar.value, value) == 0;
}

static rf_status wrong(const yaml *y, const char *what, rf_error *err)
{
    return rf_fail(err, RF_ERR_FORMAT, line_of(y), "%s: line %zu: wanted %s here",
                   y->name, line_of(y), what);
}

/* ---- Examples ---------------------------------------------------------------------- */

/* "- a\n- b\n", the text of a block that begins in the line before. */
static rf_status take_block(yaml *y, rf_error *err)
{
    char *p = (char *)y->event.data.scalar.value, *end = p + y->event.data.scalar.length;
    bool block = y->event.data.scalar.style == YAML_LITERAL_SCALAR_STYLE;
    size_t line = line_of(y) + block;
    rf_status st = RF_OK;
    for (; p < end && st == RF_OK; line++) {
        char *cut = memchr(p, '\n', (size_t)(end - p));
        char *stop = cut ? cut : end;
        st = rf_rasa_example(y->rows, rf_text_field(y->label, y->label_len), p,
                             (size_t)(stop - p), line, err);
        p = stop + (cut != NULL);
    }
    return st;
}

/* The current event is the text of one example. */
static rf_status take_text(yaml *y, rf_error *err)
{
    char *text = (char *)y->event.data.scalar.value;
    size_t len = y->event.data.scalar.length;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    return rf_rows_pair(y->rows, rf_rasa_plain(text, len),
                        rf_text_field(y->label, y->label_len), line_of(y), err);
}

/* An example that is a mapping: its "text". */
static rf_status take_mapping(yaml *y, rf_error *err)
{
    rf_status st = next_event(y, err);
    while (st == RF_OK && y->event.type != YAML_MAPPING_END_EVENT) {
        bool is_text = is_scalar(y, "text");
        st = skip_node(y, err);
        if (st == RF_OK)
            st = next_event(y, err);
        if (st == RF_OK && is_text)
            st = y->event.type == YAML_SCALAR_EVENT ? take_text(y, err)
                                                    : wrong(y, "a text", err);
        if (st == RF_OK)
            st = skip_node(y, err);
        if (st == RF_OK)
            st = next_event(y, err);
    }
    return st;
}

static rf_status take_list(yaml *y, rf_error *err)
{
    rf_status st = next_event(y, err);
    while (st == RF_OK && y->event.type != YAML_SEQUENCE_END_EVENT) {
        if (y->event.type == YAML_SCALAR_EVENT)
            st = take_text(y, err);
        else if (y->event.type == YAML_MAPPING_START_EVENT)
            st = take_mapping(y, err);
        else
            st = wrong(y, "a text, or a mapping with a text", err);
        if (st == RF_OK)
            st = next_event(y, err);
    }
    return st;
}

static rf_status take_examples(yaml *y, rf_error *err)
{
    if (!y->has_label) /* of a synonym, a lookup table, ... */
        return skip_node(y, err);
    if (y->event.type == YAML_SCALAR_EVENT)
        return take_block(y, err);
    return y->event.type == YAML_SEQUENCE_START_EVENT
               ? take_list(y, err)
               : wrong(y, "examples: a block of lines or a list", err);
}

/* ---- Intents ----------------------------------------------------------------------- */

static rf_status take_intent_name(yaml *y, rf_error *err)
{
    if (y->event.type != YAML_SCALAR_EVENT)
        return wrong(y, "the name of an intent", err);
    y->label_len = y->event.data.scalar.length;
    if (y->label_len > sizeof y->label)
        y->label_len = sizeof y->label; /* too long all the same */
    memcpy(y->label, y->event.data.scalar.value, y->label_len);
    y->has_label = true;
    return RF_OK;
}

/* One entry of the list under "nlu"; the current event begins it. */
static rf_status take_entry(yaml *y, rf_error *err)
{
    y->has_label = false;
    if (y->event.type != YAML_MAPPING_START_EVENT)
        return wrong(y, "an entry such as \"intent: name\"", err);
    bool passed = false; /* examples of we do not know what */
    rf_status st = next_event(y, err);
    while (st == RF_OK && y->event.type != YAML_MAPPING_END_EVENT) {
        bool intent = is_scalar(y, "intent"), examples = is_scalar(y, "examples");
        if (intent && passed)
            return wrong(y, "\"intent\" above its \"examples\", not", err);
        passed = passed || (examples && !y->has_label);
        st = skip_node(y, err);
        if (st == RF_OK)
            st = next_event(y, err);
        if (st == RF_OK)
            st = intent     ? take_intent_name(y, err)
                 : examples ? take_examples(y, err)
                            : skip_node(y, err);
        if (st == RF_OK)
            st = next_event(y, err);
    }
    return st;
}

static rf_status take_nlu(yaml *y, rf_error *err)
{
    if (y->event.type != YAML_SEQUENCE_START_EVENT)
        return wrong(y, "a list of intents under \"nlu\"", err);
    rf_status st = next_event(y, err);
    while (st == RF_OK && y->event.type != YAML_SEQUENCE_END_EVENT) {
        st = take_entry(y, err);
        if (st == RF_OK)
            st = next_event(y, err);
    }
    return st;
}

/* ---- The file ---------------------------------------------------------------------- */

/* The outermost mapping; the current event begins it. */
static rf_status read_mapping(yaml *y, rf_error *err)
{
    if (y->event.type != YAML_MAPPING_START_EVENT)
        return wrong(y, "the mapping of Rasa's nlu.yml, with the key \"nlu\"", err);
    bool found = false;
    rf_status st = next_event(y, err);
    while (st == RF_OK && y->event.type != YAML_MAPPING_END_EVENT) {
        bool nlu = is_scalar(y, "nlu");
        found = found || nlu;
        st = skip_node(y, err);
        if (st == RF_OK)
            st = next_event(y, err);
        if (st == RF_OK)
            st = nlu ? take_nlu(y, err) : skip_node(y, err);
        if (st == RF_OK)
            st = next_event(y, err);
    }
    if (st == RF_OK && !found)
        st = rf_fail(err, RF_ERR_FORMAT, 1,
                     "%s: no key \"nlu\" in this YAML, wanted Rasa's nlu.yml", y->name);
    return st;
}

static rf_status read_stream(yaml *y, rf_error *err)
{
    rf_status st = next_event(y, err); /* the stream's start */
    while (st == RF_OK && y->event.type != YAML_STREAM_END_EVENT) {
        st = next_event(y, err);
        if (st == RF_OK && y->event.type == YAML_DOCUMENT_START_EVENT) {
            st = next_event(y, err);
            if (st == RF_OK)
                st = read_mapping(y, err);
        }
    }
    return st;
}

rf_status rf_read_rasa_yaml(const rf_format *f, rf_source *s, rf_rows *rows,
                            rf_error *err)
{
    (void)f;
    yaml y = {.name = s->name, .rows = rows};
    size_t len;
    rf_status st = rf_source_rest(s, err);
    if (st != RF_OK)
        return st;
    if (!yaml_parser_initialize(&y.parser))
        return rf_fail_nomem(err, sizeof y, "reading YAML");
    const char *bytes = rf_source_data(s, &len);
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const yaml_char_t *)(bytes ? bytes : ""),
                                 len);
    st = read_stream(&y, err);
    if (y.has_event)
        yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    return st;
}
