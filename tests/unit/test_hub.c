/*
 * Encoders from the hub, without a network: names, descriptions of repositories, the
 * record of what was fetched, and rf_hub_get with a transport that copies files.
 */
#include "ringfence_hub.h"

#include "encoder/hub_cache.h"
#include "encoder/hub_check.h"
#include "encoder/hub_listing.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static void names(void **state)
{
    static const char *const good[] = {"a/b",
                                       "BAAI/bge-small-en-v1.5",
                                       "a/b@main",
                                       "a/b@v1.0",
                                       "a/b@0123456789abcdef",
                                       "a/b@refs/pr/12",
                                       "a_b/c_d.e",
                                       "0/1"};
    static const char *const bad[] = {
        "",         "a",        "a/",      "/a",     "a/b/c",     "../b",
        "a/..",     "a/.b",     "a/b.",    "-a/b",   "a/b-",      "a--b/c",
        "a/b..c",   "a/b c",    "a/b\\c",  "a/b\n",  "a/b?c",     "a/b#c",
        "a/%2e",    "a@b/c",    "a/b@",    "a/b@/x", "a/b@x/",    "a/b@x//y",
        "a/b@../x", "a/b@.git", "a/b@a@b", "./a/b",  "a/\xc3\xa4"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!rf_hub_name_like(good[i]))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (rf_hub_name_like(bad[i]))
            fail_msg("taken: %s", bad[i]);
    rf_hub_name n;
    assert_int_equal(rf_hub_name_parse(&n, "BAAI/bge@refs/pr/1", NULL), RF_OK);
    assert_string_equal(n.owner, "BAAI");
    assert_string_equal(n.name, "bge");
    assert_string_equal(n.revision, "refs/pr/1");
    assert_true(n.pinned);
    assert_int_equal(rf_hub_name_parse(&n, "BAAI/bge", NULL), RF_OK);
    assert_string_equal(n.revision, "main");
    assert_false(n.pinned);
    char longest[300];
    snprintf(longest, sizeof longest, "%096d/%096d", 1, 2);
    assert_true(rf_hub_name_like(longest));
    snprintf(longest, sizeof longest, "%097d/b", 1);
    assert_false(rf_hub_name_like(longest));
}

#define SHA256 "11111111111111111111111111111111111111111111111111111111111111aa"
#define GIT "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

static void a_description(void **state)
{
    static const char text[] =
        "{\"id\": \"a/b\", \"sha\": \"" COMMIT "\", \"tags\": [\"x\", \"license:mit\"],"
        " \"cardData\": {\"language\": [\"de\", 5, \"e\\u001bn\"]}, \"siblings\": ["
        "{\"rfilename\": \"README.md\"},"
        "{\"rfilename\": \"config.json\", \"size\": 12, \"blobId\": \"" GIT "\"},"
        "{\"rfilename\": \"vocab.txt\"},"
        "{\"rfilename\": \"../config.json\", \"size\": 1},"
        "{\"rfilename\": \"model.safetensors\", \"size\": 77, \"blobId\": \"" GIT "\","
        " \"lfs\": {\"sha256\": \"" SHA256 "\", \"size\": 77}}]}";
    rf_hub_listing l;
    bool wanted[RF_HUB_FILES];
    rf_error err = {0};
    (void)state;
    if (rf_hub_listing_parse(&l, text, strlen(text), "a/b", &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_string_equal(l.commit, COMMIT);
    assert_string_equal(l.id, "a/b");
    assert_string_equal(l.licence, "mit");
    assert_string_equal(l.language, "de,e?n"); /* no escape reaches a terminal */
    assert_int_equal(l.files[RF_HUB_CONFIG].size, 12);
    assert_string_equal(l.files[RF_HUB_CONFIG].git, GIT);
    assert_int_equal(l.files[RF_HUB_VOCAB].size, -1);
    assert_string_equal(l.files[RF_HUB_WEIGHTS].sha256, SHA256);
    assert_string_equal(l.files[RF_HUB_WEIGHTS].git, "");
    assert_int_equal(rf_hub_listing_choose(&l, wanted, "a/b", &err), RF_OK);
    assert_true(wanted[RF_HUB_VOCAB] && wanted[RF_HUB_WEIGHTS] && !wanted[RF_HUB_ONNX]);

    l.files[RF_HUB_TOKENIZER].there = l.files[RF_HUB_ONNX].there = true;
    assert_int_equal(rf_hub_listing_choose(&l, wanted, "a/b", &err), RF_OK);
    assert_true(wanted[RF_HUB_TOKENIZER] && !wanted[RF_HUB_VOCAB]);
    assert_true(!wanted[RF_HUB_ONNX]);
    l.files[RF_HUB_WEIGHTS].there = false;
    assert_int_equal(rf_hub_listing_choose(&l, wanted, "a/b", &err), RF_OK);
    assert_true(wanted[RF_HUB_ONNX]);
    l.files[RF_HUB_ONNX].size = ((int64_t)4 << 30) + 1;
    assert_int_equal(rf_hub_listing_choose(&l, wanted, "a/b", &err), RF_ERR_LIMIT);
    assert_error(&err, RF_ERR_LIMIT, "onnx/model.onnx", "4294967297");
}

static void refuse(const char *text, rf_status code, const char *words)
{
    rf_hub_listing l;
    rf_error err = {0};
    if (rf_hub_listing_parse(&l, text, strlen(text), "a/b", &err) == RF_OK)
        fail_msg("taken: %s", text);
    assert_error(&err, code, "a/b", words);
    assert_int_equal(rf_hub_listing_parse(&l, text, strlen(text), "a/b", NULL), code);
}

#define HEAD "{\"sha\": \"" COMMIT "\", \"siblings\": "

static void bad_descriptions(void **state)
{
    (void)state;
    refuse("", RF_ERR_FORMAT, "");
    refuse("<html>", RF_ERR_FORMAT, "");
    refuse("{}", RF_ERR_FORMAT, "\"sha\" is missing");
    refuse("{\"sha\": \"../x\"}", RF_ERR_FORMAT, "40 hexadecimal digits");
    refuse("{\"sha\": 5}", RF_ERR_FORMAT, "\"sha\" is");
    refuse("{\"sha\": \"" COMMIT "\"}", RF_ERR_FORMAT, "\"siblings\" is missing");
    refuse(HEAD "{}}", RF_ERR_FORMAT, "wanted the list of files");
    refuse(HEAD "[5]}", RF_ERR_FORMAT, "has no name");
    refuse(HEAD "[{\"rfilename\": \"config.json\", \"size\": -5}]}", RF_ERR_FORMAT,
           "negative");
    refuse(HEAD "[{\"rfilename\": \"config.json\", \"size\": \"5\"}]}", RF_ERR_FORMAT,
           "a string");
    refuse(HEAD "[{\"rfilename\": \"config.json\", \"size\": 1e99}]}", RF_ERR_FORMAT,
           "wanted a count");
    refuse(HEAD "[{\"rfilename\": \"config.json\"}, {\"rfilename\": \"config.json\"}]}",
           RF_ERR_FORMAT, "twice");
    refuse(HEAD "[{\"rfilename\": \"model.safetensors\", \"lfs\": {\"sha256\": \"x\"}}]}",
           RF_ERR_FORMAT, "64 hexadecimal digits");
}

/* The ids that git itself gives: git hash-object /dev/null; printf 'hello\n' | git
 * hash-object --stdin */
static void git_ids(void **state)
{
    char dir[RF_PATH_MAX], path[RF_PATH_MAX], hex[RF_HUB_COMMIT];
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, "x");
    scratch_write(dir, "x", "", 0);
    assert_int_equal(rf_hub_git_id(path, hex, NULL), RF_OK);
    assert_string_equal(hex, GIT);
    scratch_write(dir, "x", "hello\n", 6);
    assert_int_equal(rf_hub_git_id(path, hex, NULL), RF_OK);
    assert_string_equal(hex, "ce013625030ba8dba906f756967f9e9ca394464a");
    rf_hub_entry want = {.there = true, .size = 6};
    rf_error err = {0};
    memcpy(want.git, hex, sizeof want.git);
    assert_int_equal(rf_hub_check_file(path, &want, "a/b: x", &err), RF_OK);
    scratch_write(dir, "x", "hellO\n", 6);
    assert_int_equal(rf_hub_check_file(path, &want, "a/b: x", &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "a/b: x", "git id is", "the hub promised ce013625");
    want.size = 7;
    assert_int_equal(rf_hub_check_file(path, &want, "a/b: x", &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "got 6 bytes, the hub promised 7");
    scratch_remove(dir);
}

/* ---- A transport without a network ------------------------------------------------- */

typedef struct copier {
    size_t texts, files;
    const char *fail_at; /* the name of a file that does not come */
} copier;

static rf_status copy_text(void *user, const char *path, size_t max, char **text,
                           size_t *len, rf_error *err)
{
    copier *c = user;
    (void)max, (void)err;
    assert_string_equal(path, "/api/models/acme/tiny/revision/v%2F1?blobs=true");
    *text =
        strdup(HEAD "[{\"rfilename\": \"config.json\"}, {\"rfilename\": \"vocab.txt\"},"
                    "{\"rfilename\": \"tokenizer_config.json\"},"
                    "{\"rfilename\": \"model.safetensors\"}]}");
    *len = strlen(*text);
    c->texts++;
    return RF_OK;
}

static rf_status copy_file(void *user, const rf_hub_request *r, const char *file,
                           rf_error *err)
{
    copier *c = user;
    char from[RF_PATH_MAX];
    size_t len;
    assert_string_equal(r->commit, COMMIT);
    assert_non_null(strstr(r->path, "/acme/tiny/resolve/" COMMIT "/"));
    assert_int_equal(r->size, -1);
    snprintf(from, sizeof from, "%s/tiny/encoder/%s", GOLDEN_DIR, r->name);
    char *bytes = scratch_read(from, &len);
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    if (c->fail_at && strcmp(c->fail_at, r->name) == 0)
        len /= 2;
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
    free(bytes);
    c->files++;
    return c->fail_at && strcmp(c->fail_at, r->name) == 0
               ? rf_fail(err, RF_ERR_IO, 0, "%s: cut", r->name)
               : RF_OK;
}

static int first_only(void *user, const rf_hub_encoder *e)
{
    *(rf_hub_encoder *)user = *e;
    return 1;
}

static void get(void **state)
{
    char cache[RF_PATH_MAX], dir[RF_PATH_MAX], note[RF_PATH_MAX];
    rf_error err = {0};
    rf_hub_encoder listed = {0};
    copier c = {.fail_at = "model.safetensors"};
    const rf_hub_transport t = {
        .endpoint = "copy:", .user = &c, .get_text = copy_text, .get_file = copy_file};
    (void)state;
    scratch_make(cache);
    assert_int_equal(setenv("RINGFENCE_CACHE", cache, 1), 0);
    /* half of the weights: no encoder, but what has come stays */
    assert_int_equal(rf_hub_get("acme/tiny@v/1", &t, NULL, NULL, &err), RF_ERR_IO);
    assert_error(&err, RF_ERR_IO, "model.safetensors: cut");
    scratch_path(dir, cache, "encoders/hub/acme/tiny/" COMMIT ".part/weights");
    assert_int_equal(access(dir, F_OK), 0);
    scratch_path(dir, cache, "encoders/hub/acme/tiny/" COMMIT ".part/files");
    assert_int_equal(access(dir, F_OK), -1);
    assert_int_equal(rf_hub_path("acme/tiny@v/1", dir, NULL, 0, &err), RF_ERR_MISSING);

    c.fail_at = NULL;
    if (rf_hub_get("acme/tiny@v/1", &t, NULL, NULL, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(rf_hub_path("acme/tiny@v/1", dir, note, sizeof note, &err), RF_OK);
    assert_string_equal(note, "acme/tiny@" COMMIT);
    assert_int_equal(rf_hub_cached(first_only, &listed, &err), RF_OK);
    assert_string_equal(listed.name, "acme/tiny@v/1");
    assert_string_equal(listed.dir, dir);
    size_t files = c.files;
    assert_int_equal(rf_hub_get("acme/tiny@v/1", &t, NULL, NULL, &err), RF_OK);
    assert_int_equal(c.files, files);
    assert_int_equal(c.texts, 2);

    scratch_write(dir, "vocab.txt", "x", 1);
    assert_int_equal(rf_hub_path(note, dir, NULL, 0, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "vocab.txt", "when it was fetched");
    assert_int_equal(rf_hub_remove("acme/tiny@v/1", &err), RF_OK);
    assert_int_equal(rf_hub_remove("acme/tiny@v/1", &err), RF_ERR_MISSING);

    /* a record that somebody has spoilt */
    scratch_path(dir, cache, "encoders/hub/acme/tiny");
    const char *spoilt = "{\"revisions\": {\"main\": \"../../x\"}, \"commits\": {}}";
    scratch_write(dir, "known.json", spoilt, strlen(spoilt));
    assert_int_equal(rf_hub_path("acme/tiny", note, NULL, 0, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "known.json", "40 hexadecimal digits");
    unsetenv("RINGFENCE_CACHE");
    scratch_remove(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(a_description),
        cmocka_unit_test(bad_descriptions),
        cmocka_unit_test(git_ids),
        cmocka_unit_test(get),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
