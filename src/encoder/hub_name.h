/* hub_name.h - names of encoders on the hub, and their place in the cache */
#ifndef RF_ENCODER_HUB_NAME_H
#define RF_ENCODER_HUB_NAME_H

#include "base/error.h"

#define RF_HUB_PART 97      /* bytes of an owner or a name, NUL included */
#define RF_HUB_REVISION 129 /* of a branch, tag or commit, NUL included */
#define RF_HUB_COMMIT 41    /* 40 hexadecimal digits and a NUL */

typedef struct rf_hub_name {
    char owner[RF_HUB_PART], name[RF_HUB_PART];
    char revision[RF_HUB_REVISION]; /* "main" if the text names none */
    bool pinned;                    /* the text names a revision */
} rf_hub_name;

/* Takes "OWNER/NAME" or "OWNER/NAME@REVISION" apart. What could be a path to another
 * place (.., a leading dot, a backslash, a third part) is refused. */
rf_status rf_hub_name_parse(rf_hub_name *n, const char *text, rf_error *err);

/* Whether that would succeed: so "./dir", "/dir" and "a/b/c" are no names of the hub. */
bool rf_hub_name_like(const char *text);

/* 40 lower-case hexadecimal digits. */
bool rf_hub_is_commit(const char *text);

/* CACHE/encoders/hub/OWNER/NAME, with a directory COMMIT for every revision in the cache,
 * COMMIT.part for what is on its way, and known.json (hub_known.h). */
rf_status rf_hub_dir(const rf_hub_name *n, char path[RF_PATH_MAX], rf_error *err);

#endif
