/*
 * bundle.h - many files as one: a directory, or a zip archive
 *
 * The names decide what it is:
 *
 *   intents/X_usersays_en.json           Dialogflow ES; the language is a part
 *   intents/X/trainingPhrases/en.json    Dialogflow CX
 *   xl/workbook.xml                      a spreadsheet, which is refused by name
 *   X/any.txt                            class X, a text in each file
 *   any.yml, any.md                      Rasa
 */
#ifndef RF_DATA_BUNDLE_H
#define RF_DATA_BUNDLE_H

#include "data/rows.h"
#include "data/source.h"

/* Whether path is a directory or a zip archive, and which format it would have. */
bool rf_bundle_is(const char *path, const rf_data_options *o, rf_data_format *format);

/* Reads one; *is_bundle is false, and nothing was done, if path is something else. */
rf_status rf_bundle_read(const char *path, rf_rows *rows, bool *is_bundle, rf_error *err);

/* Called for each member with its name, and, if it asked for the content, again with a
 * source. Directories come in byte order of names, archives in their own order. */
typedef struct rf_bundle_visitor {
    bool (*wants)(void *user, const char *name);
    rf_status (*take)(void *user, const char *name, rf_source *s, rf_error *err);
    void *user;
    size_t limit; /* bytes of all members together, unpacked */
} rf_bundle_visitor;

rf_status rf_directory_each(const char *path, const rf_bundle_visitor *v, rf_error *err);
rf_status rf_zip_each(const char *path, const rf_bundle_visitor *v, rf_error *err);

/* The readers of members: the label, or its start, comes from the name. */
bool rf_dialogflow_is(const char *name);
rf_status rf_dialogflow_take(rf_rows *rows, const char *name, rf_source *s,
                             rf_error *err);
bool rf_folders_is(const char *name);
rf_status rf_folders_take(rf_rows *rows, const char *name, rf_source *s, rf_error *err);

#endif
