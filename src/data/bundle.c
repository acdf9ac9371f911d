/* bundle.c - what a directory or an archive holds, and its rows */
#include "data/bundle.h"

#include "data/formats.h"
#include "data/reader.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum kind { NO_BUNDLE, DIRECTORY, ZIP } kind;

static kind kind_of(const char *path)
{
    struct stat info;
    char magic[4];
    if (!path || strcmp(path, "-") == 0 || stat(path, &info) != 0)
        return NO_BUNDLE;
    if (S_ISDIR(info.st_mode))
        return DIRECTORY;
    if (!S_ISREG(info.st_mode))
        return NO_BUNDLE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, magic, sizeof magic);
    if (fd >= 0)
        close(fd);
    return n == 4 && memcmp(magic, "PK\x03\x04", 4) == 0 ? ZIP : NO_BUNDLE;
}

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n > m && strcasecmp(name + n - m, ending) == 0;
}

static bool is_rasa(const char *name)
{
    return ends_in(name, ".yml") || ends_in(name, ".yaml") || ends_in(name, ".md");
}

/* ---- What it is -------------------------------------------------------------------- */

typedef struct contents {
    bool dialogflow, folders, rasa, xlsx;
} contents;

static bool note_name(void *user, const char *name)
{
    contents *c = user;
    c->dialogflow = c->dialogflow || rf_dialogflow_is(name);
    c->folders = c->folders || rf_folders_is(name);
    c->rasa = c->rasa || is_rasa(name);
    c->xlsx = c->xlsx || strcmp(name, "xl/workbook.xml") == 0;
    return false;
}

static rf_status each(kind k, const char *path, const rf_bundle_visitor *v, rf_error *err)
{
    return k == DIRECTORY ? rf_directory_each(path, v, err) : rf_zip_each(path, v, err);
}

static rf_status find_format(kind k, const char *path, const rf_data_options *o,
                             rf_data_format *format, rf_error *err)
{
    contents c = {0};
    const rf_bundle_visitor v = {.wants = note_name, .user = &c, .limit = SIZE_MAX};
    *format = o->format;
    if (*format != RF_DATA_AUTO)
        return RF_OK;
    rf_status st = each(k, path, &v, err);
    if (st == RF_OK && c.xlsx)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: this is a spreadsheet; save the sheet as CSV and give that",
                       path);
    *format = c.dialogflow ? RF_DATA_DIALOGFLOW
              : c.folders  ? RF_DATA_FOLDERS
              : c.rasa     ? RF_DATA_RASA_YAML
                           : RF_DATA_AUTO;
    if (st == RF_OK && *format == RF_DATA_AUTO)
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: no labelled data found in this %s; wanted a Dialogflow export, "
                     "folders of class/name.txt, or Rasa's nlu files",
                     path, k == DIRECTORY ? "directory" : "zip archive");
    return st;
}

bool rf_bundle_is(const char *path, const rf_data_options *o, rf_data_format *format)
{
    kind k = kind_of(path);
    return k != NO_BUNDLE && find_format(k, path, o, format, NULL) == RF_OK;
}

/* ---- Its rows ---------------------------------------------------------------------- */

typedef struct reading {
    rf_rows *rows;
    rf_data_format format;
} reading;

static bool wants(void *user, const char *name)
{
    const reading *r = user;
    return r->format == RF_DATA_DIALOGFLOW ? rf_dialogflow_is(name)
           : r->format == RF_DATA_FOLDERS  ? rf_folders_is(name)
                                           : is_rasa(name);
}

/* Rasa's other files, with stories or rules, have no examples. */
static rf_status take_rasa(rf_rows *rows, const char *name, rf_source *s, rf_error *err)
{
    const rf_format *found;
    rf_data_options any = *rows->options;
    any.format = RF_DATA_AUTO;
    any.texts_only = true; /* or else everything is taken for a table */
    rf_status st = rf_format_find(s, NULL, &any, &found, err);
    (void)name;
    if (st != RF_OK ||
        (found->format != RF_DATA_RASA_YAML && found->format != RF_DATA_RASA_MD))
        return st;
    return found->read(found, s, rows, err);
}

static rf_status take(void *user, const char *name, rf_source *s, rf_error *err)
{
    const reading *r = user;
    const rf_data_options *o = r->rows->options;
    r->rows->file = s->name;
    rf_status st = rf_source_set(s, o->encoding, o->max_unpacked, err);
    if (st == RF_OK)
        st = rf_source_begin(s, err);
    if (st != RF_OK)
        return st;
    return r->format == RF_DATA_DIALOGFLOW ? rf_dialogflow_take(r->rows, name, s, err)
           : r->format == RF_DATA_FOLDERS  ? rf_folders_take(r->rows, name, s, err)
                                           : take_rasa(r->rows, name, s, err);
}

rf_status rf_bundle_read(const char *path, rf_rows *rows, bool *is_bundle, rf_error *err)
{
    kind k = kind_of(path);
    reading r = {.rows = rows};
    const size_t limit = rows->options->max_unpacked;
    const rf_bundle_visitor v = {.wants = wants,
                                 .take = take,
                                 .user = &r,
                                 .limit = limit ? limit : RF_MAX_UNPACKED};
    *is_bundle = k != NO_BUNDLE;
    if (!*is_bundle)
        return RF_OK;
    rf_status st = find_format(k, path, rows->options, &r.format, err);
    if (st == RF_OK)
        st = each(k, path, &v, err);
    return st == RF_OK ? rf_rows_end(rows, path, err) : st;
}
