/*
 * Encoder directories that are nearly right: copies of the tiny encoder with one thing
 * changed. Each is refused with its code, and the message names what was found and
 * wanted.
 */
#include "encoder/encoder.h"

#include "spoiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files ------------------------------------------------------------------------- */

static void missing_file(void **state)
{
    (void)state;
    char path[RF_PATH_MAX];
    scratch_path(path, dir, "tokenizer_config.json");
    assert_int_equal(unlink(path), 0);
    accept(); /* flags have defaults */
    scratch_path(path, dir, "vocab.txt");
    assert_int_equal(unlink(path), 0);
    refuse(RF_ERR_MISSING, "neither tokenizer.json nor vocab.txt", "");
    scratch_encoder(dir, "encoder");
    scratch_path(path, dir, "model.safetensors");
    assert_int_equal(unlink(path), 0);
    refuse(RF_ERR_MISSING, path, "No such file");
    scratch_encoder(dir, "encoder");
    scratch_path(path, dir, "config.json");
    assert_int_equal(unlink(path), 0);
    refuse(RF_ERR_MISSING, path, "No such file");

    rf_error err = {0};
    assert_null(rf_encoder_load(path, &err)); /* a directory that is not there */
    assert_error(&err, RF_ERR_MISSING, path);
    char deep[RF_PATH_MAX + 100];
    memset(deep, 'x', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_null(rf_encoder_load(deep, &err));
    assert_error(&err, RF_ERR_LIMIT, "path longer than");
}

static void not_a_file(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json", "model.safetensors", "vocab.txt",
                                        "tokenizer_config.json"};
    alarm(30); /* opening a FIFO for reading can block forever */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[RF_PATH_MAX];
        scratch_path(path, dir, names[i]);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0755), 0);
        refuse(RF_ERR_FORMAT, path, "not a regular file");
        assert_int_equal(rmdir(path), 0);

        assert_int_equal(mkfifo(path, 0644), 0);
        refuse(RF_ERR_FORMAT, path, "not a regular file");
        assert_int_equal(unlink(path), 0);

        assert_int_equal(symlink(path, path), 0);
        refuse(RF_ERR_IO, path, "symbolic links");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink("nowhere", path), 0);
        refuse(RF_ERR_MISSING, path, "No such file");
        assert_int_equal(unlink(path), 0);

        scratch_write(dir, names[i], "", 0);
        refuse(RF_ERR_FORMAT, path, "");
        scratch_copy(TINY "encoder", dir, names[i]);
        accept();
    }
    alarm(0);
}

static void unreadable(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json", "model.safetensors", "vocab.txt",
                                        "tokenizer_config.json"};
    if (geteuid() == 0)
        skip(); /* root ignores permissions */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[RF_PATH_MAX];
        scratch_path(path, dir, names[i]);
        assert_int_equal(chmod(path, 0), 0);
        refuse(RF_ERR_IO, path, "Permission denied");
        assert_int_equal(chmod(path, 0644), 0);
    }
}

/* ---- config.json ------------------------------------------------------------------- */

/* The tiny encoder's config.json with one value replaced, or left out if it is NULL. */
static void write_config(const char *key, const char *value)
{
    static const char *const entries[][2] = {
        {"model_type", "\"bert\""},
        {"vocab_size", "119"},
        {"hidden_size", "32"},
        {"num_hidden_layers", "2"},
        {"num_attention_heads", "4"},
        {"intermediate_size", "72"},
        {"hidden_act", "\"gelu\""},
        {"layer_norm_eps", "1e-12"},
        {"max_position_embeddings", "40"},
        {"position_embedding_type", "\"absolute\""},
        {"type_vocab_size", "2"},
    };
    char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"pad_token_id\": 0");
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        const char *v = strcmp(entries[i][0], key) == 0 ? value : entries[i][1];
        if (v)
            n += (size_t)snprintf(text + n, sizeof text - n, ",\n \"%s\": %s",
                                  entries[i][0], v);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "}\n");
    assert_true(n < sizeof text);
    scratch_write(dir, "config.json", text, n);
}

static void config_text(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{", "not valid JSON"},
        {"not json", "not valid JSON"},
        {"{} {}", "not valid JSON"},
        {"{\"hidden_size\": 32, \"hidden_size\": 64}", "duplicate"},
        {"[]", "holds an array, wanted an object"},
        {"{}", "is missing, wanted an integer"},
        {"{\"a\": \"\xff\"}", "unable to decode byte 0xff"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        scratch_write(dir, "config.json", bad[i][0], strlen(bad[i][0]));
        refuse(RF_ERR_FORMAT, "config.json", bad[i][1]);
    }
    static const char nul[] = "{\0}";
    scratch_write(dir, "config.json", nul, 3);
    refuse(RF_ERR_FORMAT, "config.json", "not valid JSON");
    size_t deep = 100000;
    char *nest = malloc(deep);
    assert_non_null(nest);
    memset(nest, '[', deep);
    scratch_write(dir, "config.json", nest, deep);
    refuse(RF_ERR_LIMIT, "config.json", "nested deeper than 64");
    free(nest);
}

static void config_counts(void **state)
{
    (void)state;
    static const char *const keys[] = {"num_hidden_layers",       "hidden_size",
                                       "num_attention_heads",     "intermediate_size",
                                       "max_position_embeddings", "vocab_size",
                                       "type_vocab_size"};
    static const struct {
        const char *value, *found;
        rf_status code;
    } bad[] = {
        {NULL, "is missing", RF_ERR_FORMAT},
        {"null", "is null", RF_ERR_FORMAT},
        {"2.0", "is a fraction", RF_ERR_FORMAT},
        {"\"2\"", "is a string", RF_ERR_FORMAT},
        {"[2]", "is an array", RF_ERR_FORMAT},
        {"true", "is a boolean", RF_ERR_FORMAT},
        {"0", "is 0, wanted 1 to", RF_ERR_LIMIT},
        {"-1", "is -1, wanted 1 to", RF_ERR_LIMIT},
        {"-9223372036854775808", "is -9223372036854775808", RF_ERR_LIMIT},
        {"4294967297", "is 4294967297, wanted 1 to", RF_ERR_LIMIT},
        {"9223372036854775807", "is 9223372036854775807", RF_ERR_LIMIT},
    };
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            char part[100];
            snprintf(part, sizeof part, "config.json: %s %s", keys[k], bad[i].found);
            write_config(keys[k], bad[i].value);
            refuse(bad[i].code, part, "wanted");
        }
        write_config(keys[k], "99999999999999999999");
        refuse(RF_ERR_FORMAT, "config.json", "too big integer");
    }
    write_config("max_position_embeddings", "1");
    refuse(RF_ERR_LIMIT, "max_position_embeddings is 1", "at least 2");
    write_config("num_attention_heads", "5");
    refuse(RF_ERR_FORMAT, "hidden_size 32", "num_attention_heads 5");
}

static void config_kind(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *found;
        rf_status code;
    } bad[] = {
        {"model_type", "\"roberta\"", "is \"roberta\", wanted \"bert\"", RF_ERR_VERSION},
        {"model_type", "7", "is an integer, wanted \"bert\"", RF_ERR_VERSION},
        {"hidden_act", "\"relu\"", "is \"relu\", wanted \"gelu\"", RF_ERR_VERSION},
        {"hidden_act", "\"gelu_new\"", "is \"gelu_new\"", RF_ERR_VERSION},
        {"position_embedding_type", "\"relative_key\"", "is \"relative_key\"",
         RF_ERR_VERSION},
        {"layer_norm_eps", "-1e-12", "is -1e-12", RF_ERR_FORMAT},
        {"layer_norm_eps", "1", "is 1", RF_ERR_FORMAT},
        {"layer_norm_eps", "\"1e-12\"", "wanted a number", RF_ERR_FORMAT},
        {"layer_norm_eps", "NaN", "not valid JSON", RF_ERR_FORMAT},
        {"layer_norm_eps", "Infinity", "not valid JSON", RF_ERR_FORMAT},
        {"layer_norm_eps", "1e999", "real number overflow", RF_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_config(bad[i].key, bad[i].value);
        refuse(bad[i].code, "config.json", bad[i].found);
    }
    static const char *const optional[] = {"model_type", "hidden_act", "layer_norm_eps",
                                           "position_embedding_type"};
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        write_config(optional[i], NULL);
        accept();
    }
}

/* config.json and the weights are each valid, but do not match. */
static void config_against_weights(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *a, *b;
    } bad[] = {
        {"num_hidden_layers", "200", "describes 1740800 dense weights",
         "has 101560 bytes"},
        {"num_hidden_layers", "3", "encoder.layer.2.attention.self.query.weight",
         "is missing, wanted [32, 32]"},
        {"hidden_size", "28", "embeddings.word_embeddings.weight",
         "is [119, 32], wanted [119, 28]"},
        {"hidden_size", "16384", "describes", "has 101560 bytes"},
        {"intermediate_size", "71", "encoder.layer.0.intermediate.dense.weight",
         "is [72, 32], wanted [71, 32]"},
        {"vocab_size", "120", "embeddings.word_embeddings.weight",
         "is [119, 32], wanted [120, 32]"},
        {"vocab_size", "118", "tokenizer has 119 pieces", "vocab_size of 118"},
        {"max_position_embeddings", "41", "embeddings.position_embeddings.weight",
         "is [40, 32], wanted [41, 32]"},
        {"type_vocab_size", "1", "embeddings.token_type_embeddings.weight",
         "is [2, 32], wanted [1, 32]"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_config(bad[i].key, bad[i].value);
        refuse(RF_ERR_FORMAT, bad[i].a, bad[i].b);
    }
    scratch_encoder(dir, "encoder");
    char path[RF_PATH_MAX];
    scratch_path(path, dir, "vocab.txt");
    FILE *vocab = fopen(path, "ab");
    assert_non_null(vocab);
    assert_true(fputs("one more\n", vocab) >= 0);
    assert_int_equal(fclose(vocab), 0);
    refuse(RF_ERR_FORMAT, "tokenizer has 120 pieces", "vocab_size of 119");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(missing_file),
        TEST(not_a_file),
        TEST(unreadable),
        TEST(config_text),
        TEST(config_counts),
        TEST(config_kind),
        TEST(config_against_weights),
    };
    return cmocka_run_group_tests_name("bad encoder", tests, NULL, NULL);
}
