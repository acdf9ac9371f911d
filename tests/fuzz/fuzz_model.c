/*
 * fuzz_model.c - a good model file with arbitrary changes, under a proper seal
 *
 * The input is a list of changes (changes.h). Whatever comes of it is refused with words,
 * or is a model that can be asked and saved.
 */
#include "changes.h"
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
    size_t n;
    unsigned char *file = changes_apply(&good, bytes, len, &n);
    if (file)
        use(file, n);
    free(file);
    return 0;
}
