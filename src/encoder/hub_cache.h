/* hub_cache.h - encoders of the hub that are in the cache */
#ifndef RF_ENCODER_HUB_CACHE_H
#define RF_ENCODER_HUB_CACHE_H

#include "encoder/hub_name.h"

/* The directory of the encoder, once all its files are found to be as they were when they
 * were fetched. RF_ERR_MISSING, with the way to get it, if it is not in the cache. note,
 * if not NULL, receives "OWNER/NAME@COMMIT", which names the same encoder everywhere. */
rf_status rf_hub_path(const char *name, char dir[RF_PATH_MAX], char *note, size_t cap,
                      rf_error *err);

/* Removes it from the cache, with what is on its way; known.json keeps its sha256. */
rf_status rf_hub_remove(const char *name, rf_error *err);

/* Opens the repository's directory, made if asked to, and locks it: one process at a time
 * fetches or removes. -1 on failure, also if another has it; close() unlocks. */
int rf_hub_lock(const char *repository, bool make, rf_error *err);

/* Removes CACHE/encoders/hub/OWNER/NAME, and OWNER, if they are empty. */
void rf_hub_tidy(const char *repository);

/* Removes what calls that were killed have left in the repository, which must be locked:
 * directories COMMIT.part, all but the one named `keep`, and drafts of known.json. */
void rf_hub_drop_parts(const char *repository, const char *keep);

#endif
