/* hub_check.h - whether a file is what was promised */
#ifndef RF_ENCODER_HUB_CHECK_H
#define RF_ENCODER_HUB_CHECK_H

#include "encoder/hub_listing.h"

/* Compares size, and sha256 or git id, with what the hub's listing says. name is for
 * messages: "OWNER/NAME: config.json". */
rf_status rf_hub_check_file(const char *path, const rf_hub_entry *want, const char *name,
                            rf_error *err);

/* The id that git gives to the contents of a file: the SHA-1 of "blob SIZE", NUL and the
 * bytes. No defence against somebody who can make collisions; it finds damage. */
rf_status rf_hub_git_id(const char *path, char hex[RF_HUB_COMMIT], rf_error *err);

#endif
