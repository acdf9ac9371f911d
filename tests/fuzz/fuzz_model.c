/*
 * fuzz_model.c - a good model file with arbitrary changes, under a proper seal
 *
 * The input is a list of changes, separated by bytes of 255:
 *   j{...}     merged into the description
 *   h{...}     merged into the header: types, shapes and places of tensors
 *   pXXXV...   pokes: byte V at place XXX (three bytes, little-endian) of the data
 * Whatever comes of it is refused with words, or is a model that can be asked and saved.
 */
#include "sealed.h"
#include "small_model.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static sealed good;
static char saved[64];

static void must(bool fine)
{
    if (!fine)
        abort();
}

static void remove_saved(void)
{
    unlink(saved);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    char path[] = "/tmp/ringfence-fuzz.XXXXXX";
    int fd = mkstemp(path);
    must(fd >= 0);
    close(fd);
    rf_model *m = small_model(GOLDEN_DIR "/tiny/encoder", 1, 1, NULL);
    must(m);
    rf_save_options o = rf_save_options_default();
    must(rf_model_save(m, path, &o, NULL) == RF_OK);
    rf_model_free(m);
    rf_mapping mapping;
    must(rf_mapping_open(&mapping, path, NULL) == RF_OK);
    must(sealed_take_apart(&good, mapping.data, mapping.len));
    rf_mapping_close(&mapping);
    unlink(path);
    snprintf(saved, sizeof saved, "%s/ringfence-fuzz-%d.rf",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    atexit(remove_saved);
    return 0;
}

static void change(sealed *s, const uint8_t *how, size_t n)
{
    if (n > 1 && (how[0] == 'j' || how[0] == 'h')) {
        json_t *more = json_loadb((const char *)how + 1, n - 1, 0, NULL);
        if (json_is_object(more))
            json_object_update_recursive(how[0] == 'j' ? s->about : s->header, more);
        json_decref(more);
    } else {
        for (size_t i = 1; i + 4 <= n; i += 4) {
            size_t at = how[i] | (size_t)how[i + 1] << 8 | (size_t)how[i + 2] << 16;
            s->data[at % s->n_data] = how[i + 3];
        }
    }
}

/* Answers are in range and JSON, whatever the numbers are. */
static void ask(const rf_model *m)
{
    rf_error err = {0};
    rf_decision d;
    char *json;
    size_t n;
    rf_answer_options o = rf_answer_options_default();
    o.margins = 3;
    o.explain = rf_model_has_examples(m) ? 2 : 0;
    o.map = rf_model_map_size(m) > 0;
    rf_session *s = rf_session_new(m, 1, &err);
    if (s && rf_classify(s, "where is my parcel", 18, &d, &err) == RF_OK) {
        must(d.confidence >= 0.0f && d.confidence <= 1.0f);
        must(d.nearest < m->classes && d.margin_class < m->classes);
        must(d.class_index == RF_OPEN || d.class_index < m->classes);
        if (rf_decision_json(m, &d, &o, &json, &n, &err) == RF_OK) {
            json_t *back = json_loadb(json, n, 0, NULL);
            must(back);
            json_decref(back);
            free(json);
        }
    }
    rf_session_free(s);
}

/* What can be loaded can be saved, and loaded again. */
static void save(rf_model *m)
{
    rf_error err = {0};
    rf_save_options o = rf_save_options_default();
    o.keep_examples = rf_model_has_examples(m);
    if (rf_model_save(m, saved, &o, &err) != RF_OK)
        return;
    rf_model *again = rf_model_load(saved, &err);
    must(again);
    rf_model_free(again);
}

static void use(const unsigned char *bytes, size_t len)
{
    rf_container c;
    rf_error err = {0};
    rf_status st = rf_container_parse(&c, bytes, len, "fuzz", "model", &err);
    rf_model *m = st == RF_OK ? rf_model_from(&c, &err) : NULL;
    if (!m) {
        must(err.code != RF_OK && err.msg[0] != '\0');
        return;
    }
    for (size_t i = 0; i < rf_model_classes(m); i++)
        must(rf_model_find(m, rf_model_label(m, i), strlen(rf_model_label(m, i))) == i);
    size_t width = m->encoder->config.width;
    unsigned sum = 0; /* every row is where it is said to be */
    for (size_t i = 0; i < m->n_rows; i++) {
        must((size_t)m->row_class[i] < m->classes);
        for (size_t j = 0; j < width; j++)
            sum += m->features[i * width + j];
        for (size_t j = i ? m->text_ends[i - 1] : 0; m->texts && j < m->text_ends[i]; j++)
            sum += (unsigned char)m->texts[j];
    }
    must(rf_model_describe(m, &err) == RF_OK && sum < UINT32_MAX);
    ask(m);
    save(m);
    rf_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    sealed s = {.header = json_deep_copy(good.header),
                .about = json_deep_copy(good.about),
                .data = malloc(good.n_data),
                .n_data = good.n_data};
    must(s.header && s.about && s.data);
    memcpy(s.data, good.data, good.n_data);
    for (size_t i = 0; i < len;) {
        const uint8_t *end = memchr(bytes + i, 255, len - i);
        size_t n = end ? (size_t)(end - bytes) - i : len - i;
        if (n)
            change(&s, bytes + i, n);
        i += n + 1;
    }
    size_t n;
    unsigned char *file = json_is_object(json_object_get(s.header, "__metadata__"))
                              ? sealed_put_together(&s, &n)
                              : NULL;
    if (file)
        use(file, n);
    free(file);
    sealed_release(&s);
    return 0;
}
