/*
 * unigram_read.c - a unigram model of SentencePiece out of tokenizer.json
 *
 * As for BERT, the pipelines that such files have are accepted and any other part is
 * refused by name: a tokenizer that is nearly right gives features that are silently
 * wrong. Special tokens cannot be typed: they have no score.
 */
#include "text/unigram.h"

#include "base/json.h"
#include "text/vocab_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    const char *name;
    rf_unigram *u;
    rf_vocab_builder builder;
    rf_special_names names;
    size_t n_pieces;  /* of the model; added tokens may follow */
    rf_buffer scores; /* of float; [n_pieces] */
    rf_error *err;
} reading;

static const char *type_of(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type ? type : rf_json_type(part);
}

static rf_status refuse(const reading *r, const char *part, const char *found,
                        const char *wanted)
{
    return rf_fail(r->err, RF_ERR_VERSION, 0, "%s: %s is %.60s, wanted %s", r->name, part,
                   found, wanted);
}

static bool is_text(const json_t *value, const char *text)
{
    const char *s = json_string_value(value);
    return s && strcmp(s, text) == 0;
}

/* A boolean that may be missing. */
static bool flag(const json_t *object, const char *key, bool otherwise)
{
    const json_t *v = json_object_get(object, key);
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

/* ---- The normaliser ---------------------------------------------------------------- */

static rf_status take_charmap(const reading *r, const json_t *part)
{
    const json_t *map = json_object_get(part, "precompiled_charsmap");
    if (r->u->charmap.units)
        return refuse(r, "normalizer", "a second Precompiled", "one");
    if (map && !json_is_null(map) && !json_is_string(map))
        return rf_fail(r->err, RF_ERR_FORMAT, 0,
                       "%s: precompiled_charsmap is %s, wanted a string", r->name,
                       rf_json_type(map));
    return rf_charmap_init(&r->u->charmap, json_string_value(map),
                           json_string_length(map), r->name, r->err);
}

/* Two or more spaces become one; as a space or as what stands for it. */
static rf_status take_replace(const reading *r, const json_t *part)
{
    const json_t *pattern = json_object_get(part, "pattern");
    const json_t *content = json_object_get(part, "content");
    if (!is_text(json_object_get(pattern, "Regex"), " {2,}") ||
        !(is_text(content, " ") || is_text(content, RF_METASPACE)))
        return refuse(r, "normalizer", "another Replace",
                      "Replace of \" {2,}\" by one space");
    r->u->collapse = true;
    return RF_OK;
}

static rf_status take_normalizer(const reading *r, const json_t *part)
{
    const char *type = type_of(part);
    if (!part || json_is_null(part))
        return RF_OK;
    if (strcmp(type, "Precompiled") == 0)
        return take_charmap(r, part);
    if (strcmp(type, "Replace") == 0)
        return take_replace(r, part);
    if (strcmp(type, "Strip") == 0) {
        r->u->strip_left |= flag(part, "strip_left", true);
        r->u->strip_right |= flag(part, "strip_right", true);
        return RF_OK;
    }
    return refuse(r, "normalizer", type, "Precompiled, Strip or Replace (SentencePiece)");
}

static rf_status take_normalizers(const reading *r, const json_t *root)
{
    const json_t *part = json_object_get(root, "normalizer"), *one;
    size_t i;
    if (strcmp(type_of(part), "Sequence") != 0)
        return take_normalizer(r, part);
    const json_t *all = json_object_get(part, "normalizers");
    rf_status st = RF_OK;
    json_array_foreach(all, i, one)
    {
        /* Only in this order: the others work on the spaces that it makes. */
        if (i > 0 && strcmp(type_of(one), "Precompiled") == 0)
            st = refuse(r, "normalizer", "Precompiled after others", "it first");
        if (st == RF_OK)
            st = take_normalizer(r, one);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

/* ---- Words ------------------------------------------------------------------------- */

static rf_status take_metaspace(const reading *r, const json_t *part)
{
    const json_t *scheme = json_object_get(part, "prepend_scheme");
    if (strcmp(type_of(part), "Metaspace") != 0)
        return refuse(r, "pre_tokenizer", type_of(part), "Metaspace (SentencePiece)");
    if (!is_text(json_object_get(part, "replacement"), RF_METASPACE))
        return refuse(r, "pre_tokenizer.replacement", "another character", "U+2581");
    if (!flag(part, "add_prefix_space", true) ||
        (scheme && !is_text(scheme, "always") && !is_text(scheme, "first")))
        return refuse(r, "pre_tokenizer", "Metaspace without a space before the text",
                      "prepend_scheme \"always\"");
    if (!flag(part, "split", true))
        return refuse(r, "pre_tokenizer", "Metaspace without split", "split true");
    return RF_OK;
}

static rf_status take_words(const reading *r, const json_t *root)
{
    const json_t *part = json_object_get(root, "pre_tokenizer");
    if (strcmp(type_of(part), "Sequence") != 0)
        return take_metaspace(r, part);
    const json_t *all = json_object_get(part, "pretokenizers");
    const char *first = type_of(json_array_get(all, 0));
    if (json_array_size(all) != 2 || strcmp(first, "WhitespaceSplit") != 0)
        return refuse(r, "pre_tokenizer", "another Sequence",
                      "WhitespaceSplit and Metaspace");
    r->u->split = true;
    return take_metaspace(r, json_array_get(all, 1));
}

/* ---- Start and end ----------------------------------------------------------------- */

static rf_status take_special_name(const reading *r, char out[64], const json_t *name,
                                   const char *role)
{
    size_t len = json_string_length(name);
    if (len == 0 || len >= 64)
        return rf_fail(r->err, RF_ERR_FORMAT, 0,
                       "%s: the %s token is %s of %zu bytes, wanted a string of 1 to 63",
                       r->name, role, rf_json_type(name), len);
    memcpy(out, json_string_value(name), len + 1);
    return RF_OK;
}

static const json_t *template_token(const json_t *template, size_t i)
{
    const json_t *token = json_object_get(json_array_get(template, i), "SpecialToken");
    return json_object_get(token, "id");
}

/* "<s> text </s>": as a template, or as RoBERTa has it. */
static rf_status take_template(reading *r, const json_t *root)
{
    const json_t *part = json_object_get(root, "post_processor");
    const char *type = type_of(part);
    const json_t *cls = NULL, *sep = NULL;
    if (strcmp(type, "TemplateProcessing") == 0) {
        const json_t *single = json_object_get(part, "single");
        if (json_array_size(single) != 3 ||
            !json_object_get(json_array_get(single, 1), "Sequence"))
            return refuse(r, "post_processor", "another template",
                          "one token before the text and one after it");
        cls = template_token(single, 0);
        sep = template_token(single, 2);
    } else if (strcmp(type, "RobertaProcessing") == 0 ||
               strcmp(type, "BertProcessing") == 0) {
        cls = json_array_get(json_object_get(part, "cls"), 0);
        sep = json_array_get(json_object_get(part, "sep"), 0);
    } else {
        return refuse(r, "post_processor", type, "TemplateProcessing");
    }
    rf_status st = take_special_name(r, r->names.cls, cls, "start");
    return st == RF_OK ? take_special_name(r, r->names.sep, sep, "end") : st;
}

/* ---- The pieces -------------------------------------------------------------------- */

static rf_status take_piece(reading *r, size_t i, const json_t *pair)
{
    const json_t *piece = json_array_get(pair, 0), *score = json_array_get(pair, 1);
    float value = (float)json_number_value(score);
    if (!json_is_string(piece) || !json_is_number(score) || !isfinite(value))
        return rf_fail(r->err, RF_ERR_FORMAT, i,
                       "%s: model.vocab[%zu] wants a piece and its score", r->name, i);
    size_t len = json_string_length(piece);
    if (len > RF_UNIGRAM_PIECE)
        return rf_fail(r->err, RF_ERR_LIMIT, i,
                       "%s: model.vocab[%zu] is a piece of %zu bytes, wanted up to %d",
                       r->name, i, len, RF_UNIGRAM_PIECE);
    rf_status st = rf_buffer_add(&r->scores, &value, sizeof value, r->err);
    return st == RF_OK ? rf_vocab_builder_add(&r->builder, (int64_t)i,
                                              json_string_value(piece), len, r->err)
                       : st;
}

static rf_status take_model(reading *r, const json_t *root)
{
    const json_t *model = json_object_get(root, "model"), *pair;
    const json_t *pieces = json_object_get(model, "vocab");
    const json_t *unk = json_object_get(model, "unk_id");
    json_int_t id = json_integer_value(unk);
    size_t i;
    r->n_pieces = json_array_size(pieces);
    if (!json_is_array(pieces))
        return rf_fail(r->err, RF_ERR_FORMAT, 0, "%s: model.vocab is %s, wanted an array",
                       r->name, rf_json_type(pieces));
    if (!json_is_integer(unk) || id < 0 || (size_t)id >= r->n_pieces)
        return rf_fail(r->err, RF_ERR_FORMAT, 0,
                       "%s: model.unk_id is %s %lld, wanted one of the %zu pieces",
                       r->name, rf_json_type(unk), (long long)id, r->n_pieces);
    r->u->byte_fallback = flag(model, "byte_fallback", false);
    json_array_foreach(pieces, i, pair)
    {
        rf_status st = take_piece(r, i, pair);
        if (st != RF_OK)
            return st;
    }
    const json_t *name = json_array_get(json_array_get(pieces, (size_t)id), 0);
    return take_special_name(r, r->names.unk, name, "unknown");
}

static rf_status take_added(reading *r, const json_t *root)
{
    const json_t *added = json_object_get(root, "added_tokens"), *token;
    size_t i;
    if (added && !json_is_null(added) && !json_is_array(added))
        return rf_fail(r->err, RF_ERR_FORMAT, 0,
                       "%s: added_tokens is %s, wanted an array", r->name,
                       rf_json_type(added));
    json_array_foreach(added, i, token)
    {
        const json_t *id = json_object_get(token, "id");
        const json_t *content = json_object_get(token, "content");
        if (!json_is_integer(id) || !json_is_string(content))
            return rf_fail(
                r->err, RF_ERR_FORMAT, i,
                "%s: added_tokens[%zu] wants an integer id and a string content", r->name,
                i);
        if (!flag(token, "special", false))
            return rf_fail(r->err, RF_ERR_VERSION, i,
                           "%s: added token \"%.40s\" is not special, wanted only "
                           "special ones beside the pieces of the model",
                           r->name, json_string_value(content));
        rf_status st = rf_vocab_builder_add(&r->builder, json_integer_value(id),
                                            json_string_value(content),
                                            json_string_length(content), r->err);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

/* ---- Scores ------------------------------------------------------------------------ */

static rf_status find_bytes(const reading *r, const rf_vocab *v)
{
    for (int i = 0; r->u->byte_fallback && i < 256; i++) {
        char piece[8];
        snprintf(piece, sizeof piece, "<0x%02X>", (unsigned)i);
        r->u->bytes[i] = rf_vocab_find(v, piece, strlen(piece));
        if (r->u->bytes[i] < 0)
            return rf_fail(r->err, RF_ERR_FORMAT, 0,
                           "%s: byte_fallback without a piece \"%s\"", r->name, piece);
    }
    return RF_OK;
}

/* SentencePiece's penalty of an unknown character below the lowest score. */
#define UNKNOWN_PENALTY 10.0f

static rf_status take_scores(const reading *r, const rf_vocab *v, const json_t *root)
{
    const float *given = (const float *)(const void *)r->scores.data;
    const json_t *token;
    size_t i;
    r->u->scores = malloc(v->size * sizeof *r->u->scores);
    if (!r->u->scores)
        return rf_fail_nomem(r->err, v->size * sizeof *r->u->scores, "scores");
    float lowest = INFINITY;
    for (i = 0; i < v->size; i++) {
        r->u->scores[i] = i < r->n_pieces ? given[i] : -INFINITY;
        if (i < r->n_pieces && given[i] < lowest)
            lowest = given[i];
    }
    r->u->unknown = lowest - UNKNOWN_PENALTY;
    r->u->scores[v->unk] = r->u->scores[v->cls] = r->u->scores[v->sep] = -INFINITY;
    json_array_foreach(json_object_get(root, "added_tokens"), i, token)
        r->u->scores[json_integer_value(json_object_get(token, "id"))] = -INFINITY;
    if (r->u->byte_fallback) /* "<0x41>" is a byte, not a text */
        for (i = 0; i < 256; i++)
            r->u->scores[r->u->bytes[i]] = -INFINITY;
    return RF_OK;
}

rf_vocab *rf_unigram_read(void *root, const char *name, rf_error *err)
{
    reading r = {.name = name, .err = err, .u = calloc(1, sizeof *r.u)};
    rf_vocab *v = NULL;
    rf_buffer_init(&r.scores, (size_t)RF_MAX_VOCAB * sizeof(float), "scores");
    if (!r.u) {
        rf_fail_nomem(err, sizeof *r.u, "tokenizer");
        return NULL;
    }
    if (rf_vocab_builder_init(&r.builder, name, err) == RF_OK) {
        r.builder.vocab->prefix[0] = '\0'; /* pieces look alike wherever they are */
        r.builder.vocab->prefix_len = 0;
        if (take_normalizers(&r, root) == RF_OK && take_words(&r, root) == RF_OK &&
            take_template(&r, root) == RF_OK && take_model(&r, root) == RF_OK &&
            take_added(&r, root) == RF_OK)
            v = rf_vocab_builder_finish(&r.builder, &r.names, err);
    }
    if (v && find_bytes(&r, v) == RF_OK && take_scores(&r, v, root) == RF_OK) {
        v->unigram = r.u;
    } else {
        rf_unigram_free(r.u);
        rf_vocab_free(v);
        v = NULL;
    }
    rf_buffer_release(&r.scores);
    rf_vocab_builder_release(&r.builder);
    return v;
}
