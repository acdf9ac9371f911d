/* hub_known.c - reads, writes and compares known.json */
#include "encoder/hub_known.h"

#include "base/file.h"
#include "encoder/hub_listing.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_KNOWN ((size_t)16 << 20)

static json_t *new_object(const rf_hub_name *n)
{
    char name[2 * RF_HUB_PART];
    snprintf(name, sizeof name, "%s/%s", n->owner, n->name);
    return json_pack("{s:s, s:{}, s:{}}", "repository", name, "revisions", "commits");
}

/* Every commit has an object of files, each with size and sha256, and known names only.
 */
static const char *mistake_in(const json_t *known)
{
    const char *key, *name;
    json_t *value, *file;
    const json_t *revisions = json_object_get(known, "revisions"),
                 *commits = json_object_get(known, "commits");
    if (!json_is_object(revisions) || !json_is_object(commits))
        return "\"revisions\" or \"commits\" is not an object";
    json_object_foreach((json_t *)(uintptr_t)revisions, key, value) if (
        !json_is_string(value) ||
        !rf_hub_is_commit(json_string_value(
            value))) return "a revision is not a commit of 40 hexadecimal digits";
    json_object_foreach((json_t *)(uintptr_t)commits, key, value)
    {
        json_t *files = json_object_get(value, "files");
        if (!rf_hub_is_commit(key) || json_object_size(files) == 0)
            return "a commit has no files";
        json_object_foreach(files, name, file)
        {
            size_t k = 0;
            while (k < RF_HUB_FILES && strcmp(rf_hub_kinds[k].name, name) != 0)
                k++;
            if (k == RF_HUB_FILES)
                return "a file has a name that no encoder has";
            if (!json_is_string(json_object_get(file, "sha256")) ||
                !json_is_integer(json_object_get(file, "size")))
                return "a file has no size or no sha256";
        }
    }
    return NULL;
}

json_t *rf_hub_known_read(const char *dir, const rf_hub_name *n, rf_error *err)
{
    char path[RF_PATH_MAX];
    json_t *known = NULL;
    rf_buffer text;
    rf_buffer_init(&text, MAX_KNOWN, "known.json");
    if (rf_path_join(path, dir, "known.json", err) != RF_OK)
        return NULL;
    if (!rf_file_exists(path)) {
        known = new_object(n);
        if (!known)
            rf_fail_nomem(err, 0, "known.json");
    } else if (rf_file_read(path, &text, err) == RF_OK) {
        known = rf_json_object(text.data, text.len, path, err);
        const char *mistake = known ? mistake_in(known) : NULL;
        if (mistake) {
            rf_fail(err, RF_ERR_FORMAT, 0,
                    "%s: %s; remove the file if nothing in it matters", path, mistake);
            json_decref(known);
            known = NULL;
        }
    }
    rf_buffer_release(&text);
    return known;
}

rf_status rf_hub_known_write(const json_t *known, const char *dir, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_new_file file = {0};
    rf_buffer text;
    rf_buffer_init(&text, MAX_KNOWN, "known.json");
    rf_status st;
    if ((st = rf_path_join(path, dir, "known.json", err)) != RF_OK ||
        (st = rf_json_write_as(known, JSON_INDENT(2), &text, err)) != RF_OK ||
        (st = rf_buffer_add(&text, "\n", 1, err)) != RF_OK ||
        (st = rf_new_file_open(&file, path, err)) != RF_OK)
        goto out;
    st = rf_new_file_add(&file, text.data, text.len, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&file, err);
    rf_new_file_abandon(&file);
out:
    rf_buffer_release(&text);
    return st;
}

const char *rf_hub_known_commit(const json_t *known, const char *revision)
{
    if (rf_hub_is_commit(revision))
        return revision;
    return json_string_value(
        json_object_get(json_object_get(known, "revisions"), revision));
}

const char *rf_hub_known_revision(const json_t *known)
{
    json_t *revisions = json_object_get(known, "revisions");
    return json_object_iter_key(json_object_iter(revisions));
}

json_t *rf_hub_known_entry(const json_t *known, const char *commit)
{
    return json_object_get(json_object_get(known, "commits"), commit);
}

json_t *rf_hub_known_measure(const char *path, rf_error *err)
{
    char hex[RF_SHA256_HEX];
    struct stat s;
    if (rf_sha256_file(path, hex, err) != RF_OK)
        return NULL;
    if (stat(path, &s) != 0) {
        rf_fail_errno(err, "%s: cannot stat", path);
        return NULL;
    }
    json_t *file = json_pack("{s:I, s:s}", "size", (json_int_t)s.st_size, "sha256", hex);
    if (!file)
        rf_fail_nomem(err, 0, "known.json");
    return file;
}

rf_status rf_hub_known_check(const json_t *entry, const char *dir, const char *name,
                             rf_error *err)
{
    char path[RF_PATH_MAX], hex[RF_SHA256_HEX];
    const char *file;
    json_t *want, *files = json_object_get(entry, "files");
    if (!files)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: known.json beside it does not know its files; remove it and "
                       "get it again: ringfence encoder remove %s",
                       dir, name);
    json_object_foreach(files, file, want)
    {
        const char *sha256 = json_string_value(json_object_get(want, "sha256"));
        rf_status st = rf_path_join(path, dir, file, err);
        if (st == RF_OK)
            st = rf_sha256_file(path, hex, err);
        if (st == RF_OK && strcmp(hex, sha256) != 0)
            st = rf_fail(err, RF_ERR_FORMAT, 0,
                         "%s: sha256 is %s, was %s when it was fetched; get it again: "
                         "ringfence encoder remove %s",
                         path, hex, sha256, name);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}
