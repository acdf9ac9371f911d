/*
 * test_decision_json.c - answers as JSON: read back by jansson, every field is compared
 * with its decision
 */
#include "tiny_model.h"

#include "base/json.h"
#include "scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 13

/* The object of an answer with these options; one text of many is open, another is not.
 */
static json_t *answer(const rf_model *m, rf_session *s, const char *text,
                      const rf_answer_options *o, rf_decision *d)
{
    rf_error err = {0};
    char *json;
    size_t len;
    assert_int_equal(rf_classify(s, text, strlen(text), d, &err), RF_OK);
    if (rf_decision_json(m, d, o, &json, &len, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(strlen(json), len);
    json_t *root = rf_json_object(json, len, "answer", &err);
    if (!root)
        fail_msg("%s: %s", err.msg, json);
    free(json);
    return root;
}

static bool same_float(json_t *found, float want)
{
    return json_is_number(found) && (float)json_number_value(found) == want;
}

/* A list of classes: the k largest of values that are not below least, by a plain sort.
 */
static void check_list(const rf_model *m, json_t *list, const char *key,
                       const float *values, size_t k, float least)
{
    bool used[CLASSES] = {false};
    size_t n = 0;
    for (; n < k; n++) {
        size_t best = CLASSES;
        for (size_t i = 0; i < CLASSES; i++)
            if (!used[i] && values[i] >= least &&
                (best == CLASSES || values[i] > values[best]))
                best = i;
        if (best == CLASSES)
            break;
        used[best] = true;
        json_t *at = json_array_get(list, n);
        assert_string_equal(json_string_value(json_object_get(at, "label")),
                            rf_model_label(m, best));
        assert_true(same_float(json_object_get(at, key), values[best]));
    }
    assert_int_equal(json_array_size(list), n);
}

static void every_field(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(CLASSES, -2.27f);
    tiny_model_keep(m, 40, true);
    tiny_model_map(m, 2);
    rf_session *s = rf_session_new(m, 1, NULL);
    assert_non_null(s);
    size_t open = 0, known = 0;
    for (uint64_t i = 0; i < 60; i++) {
        char text[31] = {0};
        rf_decision d;
        float x, y;
        rf_answer_options o = {.struct_size = sizeof o,
                               .top = i % 15,
                               .margins = i % 4,
                               .explain = i % 3 ? 3 : 0,
                               .map = i % 2,
                               .text = i % 5 ? NULL : "a\"\\\n\x01\xff",
                               .text_len = 6};
        tiny_text(text, 30, i);
        json_t *a = answer(m, s, text, &o, &d);
        bool is_open = d.class_index == RF_OPEN;
        *(is_open ? &open : &known) += 1;
        assert_string_equal(json_string_value(json_object_get(a, "label")),
                            rf_model_label(m, d.class_index));
        assert_int_equal(json_is_true(json_object_get(a, "open")), is_open);
        assert_true(same_float(json_object_get(a, "confidence"), d.confidence));
        assert_true(same_float(json_object_get(a, "margin"), d.margin));
        check_list(m, json_object_get(a, "ranking"), "probability", d.probabilities,
                   o.top, -INFINITY);
        check_list(m, json_object_get(a, "accepted"), "margin", d.margins, CLASSES, 0.0f);
        char reason[RF_REASON_MAX];
        rf_neighbour counted[3];
        size_t n_counted = o.explain;
        if (o.explain)
            assert_int_equal(rf_explain(m, d.feature, counted, &n_counted, NULL), RF_OK);
        if (is_open)
            assert_string_equal(
                json_string_value(json_object_get(a, "reason")),
                rf_open_reason(m, &d, counted, n_counted, reason, sizeof reason));
        else
            assert_null(json_object_get(a, "reason"));
        assert_int_equal(json_object_get(a, "margins") != NULL, o.margins > 0);
        if (o.margins)
            check_list(m, json_object_get(a, "margins"), "margin", d.margins, o.margins,
                       -INFINITY);
        assert_int_equal(json_object_get(a, "text") != NULL, o.text != NULL);
        if (o.text)
            assert_string_equal(json_string_value(json_object_get(a, "text")),
                                "a\"\\\n\x01\xef\xbf\xbd");
        rf_neighbour near[3];
        size_t n = 3;
        json_t *list = json_object_get(a, "neighbours");
        assert_int_equal(rf_explain(m, d.feature, near, &n, NULL), RF_OK);
        assert_int_equal(json_array_size(list), o.explain ? 3 : 0);
        for (size_t k = 0; o.explain && k < 3; k++) {
            json_t *one = json_array_get(list, k), *t = json_object_get(one, "text");
            assert_int_equal(json_string_length(t), near[k].text_len);
            assert_memory_equal(json_string_value(t), near[k].text, near[k].text_len);
            assert_true(same_float(json_object_get(one, "distance"), near[k].distance));
        }
        assert_int_equal(rf_decision_place(m, &d, &x, &y, NULL), RF_OK);
        json_t *place = json_object_get(a, "map");
        assert_int_equal(json_array_size(place), o.map ? 2 : 0);
        assert_true(!o.map || (same_float(json_array_get(place, 0), x) &&
                               same_float(json_array_get(place, 1), y)));
        json_decref(a);
    }
    assert_true(open > 3 && known > 3);
    rf_session_free(s);
    rf_model_free(m);
}

/* A request for something the model lacks is an error and returns nothing. */
static void missing_parts_are_errors(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(CLASSES, 0.0f);
    rf_session *s = rf_session_new(m, 1, NULL);
    rf_decision d;
    rf_error err = {0};
    char *json = NULL;
    assert_int_equal(rf_classify(s, "a", 1, &d, NULL), RF_OK);
    rf_answer_options o = {.struct_size = sizeof o, .explain = 3};
    assert_int_equal(rf_decision_json(m, &d, &o, &json, NULL, &err), RF_ERR_MISSING);
    assert_null(json);
    o = (rf_answer_options){.struct_size = sizeof o, .map = true};
    assert_int_equal(rf_decision_json(m, &d, &o, &json, NULL, &err), RF_ERR_MISSING);
    assert_null(json);
    tiny_model_keep(m, 10, false); /* features without texts */
    o = (rf_answer_options){.struct_size = sizeof o, .explain = 20};
    json_t *a = answer(m, s, "a", &o, &d), *list = json_object_get(a, "neighbours");
    assert_int_equal(json_array_size(list), 10);
    assert_true(json_is_null(json_object_get(json_array_get(list, 0), "text")));
    json_decref(a);
    a = answer(m, s, "a", NULL, &d); /* the defaults */
    assert_int_equal(json_array_size(json_object_get(a, "ranking")), 5);
    json_decref(a);
    rf_session_free(s);
    rf_model_free(m);
}

/* Of long neighbours the first thousand bytes are shown, whole characters. */
static void long_neighbours_are_cut(void **state)
{
    (void)state;
    static const struct {
        size_t ascii, marks, want; /* bytes before characters of three bytes */
        bool cut;
    } cases[] = {{1000, 0, 1000, false},
                 {1001, 0, 1000, true},
                 {998, 1, 998, true},
                 {997, 1, 1000, false},
                 {998, 30000, 998, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_model *m = tiny_model_new(CLASSES, 0.0f);
        rf_session *s = rf_session_new(m, 1, NULL);
        rf_decision d;
        rf_answer_options o = {.struct_size = sizeof o, .explain = 1};
        size_t len = cases[i].ascii + 3 * cases[i].marks;
        tiny_model_keep(m, 1, true);
        free(m->texts);
        m->texts = malloc(len);
        assert_non_null(m->texts);
        memset(m->texts, 'a', len);
        for (size_t k = 0; k < cases[i].marks; k++)
            memcpy(m->texts + cases[i].ascii + 3 * k, "\xe6\xbc\xa2", 3);
        m->text_ends[0] = len;
        json_t *a = answer(m, s, "a", &o, &d);
        json_t *one = json_array_get(json_object_get(a, "neighbours"), 0);
        json_t *text = json_object_get(one, "text");
        assert_int_equal(json_string_length(text), cases[i].want);
        assert_memory_equal(json_string_value(text), m->texts, cases[i].want);
        assert_int_equal(json_is_true(json_object_get(one, "cut")), cases[i].cut);
        json_decref(a);
        rf_session_free(s);
        rf_model_free(m);
    }
}

/* Reasons for made-up neighbours: classes of the nearest texts, nearest first. */
static void reasons(void **state)
{
    (void)state;
    static const struct {
        size_t n, near[5];
        const char *want;
    } cases[] = {
        {0, {0}, "would be \"c0002\", rejected by 2.75"},
        {1, {2}, "would be \"c0002\" (1 of 1 nearest text), rejected by 2.75"},
        {3, {2, 2, 2}, "would be \"c0002\" (3 of 3 nearest texts), rejected by 2.75"},
        {4, {1, 1, 2, 2}, "would be \"c0002\" (2 of 4 nearest texts), rejected by 2.75"},
        {3,
         {1, 2, 1},
         "would be \"c0002\" (1 of 3 nearest texts; 2 of \"c0001\"), rejected by 2.75"},
        {5,
         {3, 1, 1, 3, 0},
         "would be \"c0002\" (0 of 5 nearest texts; 2 of \"c0003\"), rejected by 2.75"}};
    rf_model *m = tiny_model_new(4, 0.0f);
    rf_decision d = {.class_index = RF_OPEN, .margin = -2.75f, .margin_class = 2};
    char out[RF_REASON_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_neighbour near[5] = {{0}};
        for (size_t k = 0; k < cases[i].n; k++)
            near[k].class_index = cases[i].near[k];
        assert_string_equal(rf_open_reason(m, &d, near, cases[i].n, out, sizeof out),
                            cases[i].want);
        assert_int_equal(strlen(rf_open_reason(m, &d, near, cases[i].n, out, 10)), 9);
    }
    d.class_index = 2;
    assert_string_equal(rf_open_reason(m, &d, NULL, 0, out, sizeof out), "");
    rf_model_free(m);
}

/* Overlong words are cut, repeated ones listed once, and no more than 50. */
static void unknown_words(void **state)
{
    (void)state;
    rf_model *m = tiny_model_new(2, 0.0f);
    char text[2000] = "", *words;
    size_t n;
    m->max_tokens = 0; /* no limit */
    assert_int_equal(rf_unknown_words(m, "", 0, &words, &n, NULL), RF_OK);
    assert_int_equal(n, 0);
    free(words);
    memset(text, 'a', 300);
    strcpy(text + 300, " \xe6\xbc\xa2 a \xe6\xbc\xa2");
    assert_int_equal(rf_unknown_words(m, text, strlen(text), &words, &n, NULL), RF_OK);
    assert_int_equal(n, 2);
    assert_int_equal(strspn(words, "a"), strlen(words));
    assert_in_range(strlen(words), 1, 299);
    assert_string_equal(words + strlen(words) + 1, "\xe6\xbc\xa2");
    free(words);
    for (size_t i = 0; i < 60; i++) /* ideographs from U+4E00 on */
        memcpy(text + 3 * i,
               (char[]){(char)0xe4, (char)(0xb8 + i / 32), (char)(0x80 + i % 32)}, 3);
    assert_int_equal(rf_unknown_words(m, text, 180, &words, &n, NULL), RF_OK);
    assert_int_equal(n, 50);
    free(words);
    rf_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field),
        cmocka_unit_test(missing_parts_are_errors),
        cmocka_unit_test(long_neighbours_are_cut),
        cmocka_unit_test(reasons),
        cmocka_unit_test(unknown_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
