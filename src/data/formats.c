/* formats.c - the table of formats, and which of them a file has */
#include "data/formats.h"

#include "data/dataset.h"
#include "data/recognise.h"

#include <string.h>
#include <strings.h>

#define GLIMPSE ((size_t)64 << 10) /* bytes that decide the format */

/* In the order in which content is looked at. */
static const rf_format formats[] = {
    {RF_DATA_JSONL, "jsonl", "JSON Lines", ".jsonl .ndjson", rf_looks_like_jsonl,
     rf_read_jsonl},
    {RF_DATA_LUIS, "luis", "LUIS or CLU export", NULL, rf_looks_like_luis, rf_read_luis},
    {RF_DATA_SNIPS, "snips", "Snips NLU data set", NULL, rf_looks_like_snips,
     rf_read_snips},
    {RF_DATA_JSON, "json", "JSON array, or object of arrays", NULL, rf_looks_like_json,
     rf_read_json},
    {RF_DATA_FASTTEXT, "fasttext", "fastText lines", NULL, rf_looks_like_fasttext,
     rf_read_fasttext},
    {RF_DATA_RASA_YAML, "rasa-yaml", "Rasa nlu.yml", ".yml .yaml",
     rf_looks_like_rasa_yaml, rf_read_rasa_yaml},
    {RF_DATA_RASA_MD, "rasa-md", "Rasa nlu.md", NULL, rf_looks_like_rasa_md,
     rf_read_rasa_md},
    {RF_DATA_TSV, "tsv", "table with tabs", ".tsv .tab", rf_looks_like_tsv,
     rf_read_delimited},
    {RF_DATA_CSV, "csv", "table with commas, semicolons, tabs or |", ".csv",
     rf_looks_like_csv, rf_read_delimited},
    {RF_DATA_LINES, "lines", "a text per line", NULL, NULL, rf_read_lines},
    {RF_DATA_DIALOGFLOW, "dialogflow", "Dialogflow ES or CX export", NULL, NULL, NULL},
    {RF_DATA_FOLDERS, "folders", "folders of class/name.txt", NULL, NULL, NULL},
};
#define N_FORMATS (sizeof formats / sizeof formats[0])

const rf_format *rf_format_of(rf_data_format format)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i].format == format)
            return &formats[i];
    return NULL;
}

const char *rf_data_format_name(rf_data_format format, const char **title)
{
    const rf_format *f = rf_format_of(format);
    if (title)
        *title = f ? f->title : format == RF_DATA_AUTO ? "found by itself" : NULL;
    return f ? f->name : format == RF_DATA_AUTO ? "auto" : NULL;
}

/* ---- Which ------------------------------------------------------------------------- */

static bool ends_in(const char *name, size_t len, const char *ending, size_t n)
{
    return len > n && strncasecmp(name + len - n, ending, n) == 0;
}

static bool has_ending(const char *name, const char *endings)
{
    size_t len = strlen(name);
    if (ends_in(name, len, ".gz", 3))
        len -= 3;
    else if (ends_in(name, len, ".zst", 4))
        len -= 4;
    for (const char *p = endings; *p;) {
        size_t n = strcspn(p, " ");
        if (ends_in(name, len, p, n))
            return true;
        p += n;
        p += strspn(p, " ");
    }
    return false;
}

rf_data_format rf_format_of_name(const char *name)
{
    for (size_t i = 0; i < N_FORMATS && name; i++)
        if (formats[i].endings && has_ending(name, formats[i].endings))
            return formats[i].format;
    return RF_DATA_AUTO;
}

static rf_status check_options(const rf_source *s, const rf_data_options *o,
                               rf_error *err)
{
    const rf_format *f = rf_format_of(o->format);
    if ((o->format != RF_DATA_AUTO && !f) || (unsigned)o->header > RF_HEADER_NO)
        return rf_fail(err, RF_ERR_ARG, 0, "%s: format %d, header %d: no such option",
                       s->name, (int)o->format, (int)o->header);
    if (o->raw_tsv && f && f->format != RF_DATA_TSV)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%s: raw TSV is a reading of TSV, not of the format \"%s\"",
                       s->name, f->name);
    if (f && !f->read)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: this is a single file, but the format \"%s\" (%s) is a "
                       "directory or an archive",
                       s->name, f->name, f->title);
    return RF_OK;
}

rf_status rf_format_find(rf_source *s, const char *file_name, const rf_data_options *o,
                         const rf_format **found, rf_error *err)
{
    rf_status st = check_options(s, o, err);
    *found = rf_format_of(o->raw_tsv ? RF_DATA_TSV : o->format);
    if (!*found)
        *found = rf_format_of(rf_format_of_name(file_name));
    if (st != RF_OK || *found)
        return st;
    st = rf_source_want(s, GLIMPSE, err);
    rf_glimpse g = {.options = o, .all = s->at_end};
    g.bytes = rf_source_data(s, &g.len);
    if (!g.bytes)
        g.bytes = "";
    for (size_t i = 0; i < N_FORMATS && !*found; i++)
        if (formats[i].recognise && formats[i].recognise(&g))
            *found = &formats[i];
    if (!*found)
        *found = rf_format_of(RF_DATA_LINES);
    return st;
}
