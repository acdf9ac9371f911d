/*
 * hub_known.h - what is known about a repository of the hub: known.json in its directory
 *
 *   {"repository": "OWNER/NAME",
 *    "revisions": {"main": COMMIT, ...},
 *    "commits": {COMMIT: {"endpoint": "https://...", "licence": "mit", "language": "en",
 *                         "files": {"config.json": {"size": 612, "sha256": "..."}}}}}
 *
 * The sha256 of every file is recorded when a commit is fetched for the first time. It
 * outlives the files: a commit that is removed and fetched again must be the same.
 */
#ifndef RF_ENCODER_HUB_KNOWN_H
#define RF_ENCODER_HUB_KNOWN_H

#include "base/json.h"
#include "encoder/hub_name.h"

/* The contents of dir/known.json, or a new object if there is none. NULL on failure. */
json_t *rf_hub_known_read(const char *dir, const rf_hub_name *n, rf_error *err);

/* Replaces the file. */
rf_status rf_hub_known_write(const json_t *known, const char *dir, rf_error *err);

/* The commit behind a revision (a commit is its own); NULL if it is not known. */
const char *rf_hub_known_commit(const json_t *known, const char *revision);

/* Any revision that is known, NULL if none is. */
const char *rf_hub_known_revision(const json_t *known);

/* The object of a commit; NULL if there is none. */
json_t *rf_hub_known_entry(const json_t *known, const char *commit);

/* {"size": ..., "sha256": ...} of a file; NULL on failure. */
json_t *rf_hub_known_measure(const char *path, rf_error *err);

/* Whether the directory holds the files of the entry, and each is as it was: reads and
 * hashes all of them. name is for the message. */
rf_status rf_hub_known_check(const json_t *entry, const char *dir, const char *name,
                             rf_error *err);

#endif
