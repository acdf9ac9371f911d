/* hub_name.c - OWNER/NAME@REVISION, checked character by character */
#include "encoder/hub_name.h"

#include "encoder/catalogue.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* The hub's own rule: letters, digits, "-", "_", ".", none of "-" and "." at either end,
 * no ".." and no "--". So no part of a path can be hidden in it. */
static bool part_fits(const char *part, size_t len)
{
    if (len == 0 || len >= RF_HUB_PART || strchr("-.", part[0]) ||
        strchr("-.", part[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_plain(part[i]) ||
            (i > 0 && part[i] == part[i - 1] && strchr("-.", part[i])))
            return false;
    return true;
}

/* A branch may have slashes in it ("refs/pr/1"); each part is as above. */
static bool revision_fits(const char *revision)
{
    if (strlen(revision) >= RF_HUB_REVISION)
        return false;
    for (const char *at = revision;;) {
        size_t len = strcspn(at, "/");
        if (!part_fits(at, len))
            return false;
        if (!at[len])
            return true;
        at += len + 1;
    }
}

rf_status rf_hub_name_parse(rf_hub_name *n, const char *text, rf_error *err)
{
    const char *slash = strchr(text, '/'), *at = strchr(text, '@');
    size_t len = at ? (size_t)(at - text) : strlen(text);
    *n = (rf_hub_name){.revision = "main", .pinned = at};
    if (!slash || (at && at < slash))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%.200s: wanted OWNER/NAME or OWNER/NAME@REVISION", text);
    size_t owner = (size_t)(slash - text), name = len - owner - 1;
    if (!part_fits(text, owner) || !part_fits(slash + 1, name))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%.200s: not a name of the hub; wanted OWNER/NAME of letters, "
                       "digits, \"-\", \"_\" and \".\", up to %d each",
                       text, RF_HUB_PART - 1);
    if (at && !revision_fits(at + 1))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%.200s: the revision after \"@\" is not the name of a branch, a "
                       "tag or a commit",
                       text);
    memcpy(n->owner, text, owner);
    memcpy(n->name, slash + 1, name);
    if (at)
        snprintf(n->revision, sizeof n->revision, "%s", at + 1);
    return RF_OK;
}

bool rf_hub_name_like(const char *text)
{
    rf_hub_name n;
    return rf_hub_name_parse(&n, text, NULL) == RF_OK;
}

bool rf_hub_is_commit(const char *text)
{
    return strlen(text) == RF_HUB_COMMIT - 1 &&
           strspn(text, "0123456789abcdef") == RF_HUB_COMMIT - 1;
}

rf_status rf_hub_dir(const rf_hub_name *n, char path[RF_PATH_MAX], rf_error *err)
{
    char below[2 * RF_HUB_PART + 8];
    snprintf(below, sizeof below, "hub/%s/%s", n->owner, n->name);
    return rf_catalogue_dir(below, path, err);
}
