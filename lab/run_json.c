/* run_json.c - a run as a line of runs.jsonl: the table of its fields */
#include "lab/run_json.h"

#include "lab/record_json.h"

#define AT(member) offsetof(rf_run, member)
#define CAP(member) sizeof(((rf_run *)0)->member)

static const rf_field fields[] = {
    {"set", RF_FIELD_TEXT, AT(set), CAP(set), 0, NULL},
    {"ratio", RF_FIELD_REAL, AT(ratio), 0, 1, NULL},
    {"seed", RF_FIELD_SEED, AT(seed), 0, 0, NULL},
    {"method", RF_FIELD_TEXT, AT(method), CAP(method), 0, NULL},
    {"encoder", RF_FIELD_TEXT, AT(encoder), CAP(encoder), 0, NULL},
    {"variant", RF_FIELD_TEXT, AT(variant), CAP(variant), 0, NULL},
    {"known_classes", RF_FIELD_SIZE, AT(known_classes), 0, 0, NULL},
    {"train_rows", RF_FIELD_SIZE, AT(train_rows), 0, 0, NULL},
    {"dev_rows", RF_FIELD_SIZE, AT(dev_rows), 0, 0, NULL},
    {"test_rows", RF_FIELD_SIZE, AT(test_rows), 0, 0, NULL},
    {"classes_sha256", RF_FIELD_TEXT, AT(classes_sha256), CAP(classes_sha256), 0, NULL},
    {"accuracy", RF_FIELD_REAL, AT(accuracy), 0, 100, NULL},
    {"f1", RF_FIELD_REAL, AT(f1), 0, 100, NULL},
    {"f1_known", RF_FIELD_REAL, AT(f1_known), 0, 100, NULL},
    {"f1_open", RF_FIELD_REAL, AT(f1_open), 0, 100, NULL},
    {"closed", RF_FIELD_SHARE, AT(closed), 0, 100, NULL},
    {"auroc", RF_FIELD_SHARE, AT(auroc), 0, 100, NULL},
    {"best_f1", RF_FIELD_SHARE, AT(best_f1), 0, 100, NULL},
    {"best_accuracy", RF_FIELD_SHARE, AT(best_accuracy), 0, 100, NULL},
    {"encode", RF_FIELD_REAL, AT(seconds.encode), 0, 1e12, "seconds"},
    {"known", RF_FIELD_REAL, AT(seconds.known), 0, 1e12, "seconds"},
    {"open", RF_FIELD_REAL, AT(seconds.open), 0, 1e12, "seconds"},
    {"test", RF_FIELD_REAL, AT(seconds.test), 0, 1e12, "seconds"},
    {"shared_known", RF_FIELD_FLAG, AT(shared_known), 0, 0, NULL},
    {"threads", RF_FIELD_SIZE, AT(threads), 0, 0, NULL},
    {"version", RF_FIELD_TEXT, AT(version), CAP(version), 0, NULL},
    {"kernels", RF_FIELD_TEXT, AT(kernels), CAP(kernels), 0, NULL},
};

static const rf_record_form form = {"a run", fields, sizeof fields / sizeof fields[0]};

/* ---- Writing ----------------------------------------------------------------------- */

/* The line as an object; NULL if memory ran out. */
static json_t *line_of(const rf_run *run)
{
    json_t *line = rf_record_json(&form, run);
    bool ok = line != NULL;
    if (ok && run->settings)
        ok = json_object_set(line, "settings", run->settings) == 0;
    if (ok && run->confusions)
        ok = json_object_set(line, "confusions", run->confusions) == 0;
    if (ok)
        return line;
    json_decref(line);
    return NULL;
}

rf_status rf_run_write(const rf_run *run, rf_buffer *out, rf_error *err)
{
    size_t before = out->len;
    rf_status st = rf_record_check(&form, run, err);
    if (st != RF_OK)
        return st;
    json_t *line = line_of(run);
    if (!line)
        return rf_fail_nomem(err, sizeof *run, "a run");
    st = rf_json_write(line, out, err);
    json_decref(line);
    if (st == RF_OK) { /* a line that cannot be read must not get into the file */
        rf_run copy;
        st = rf_run_read(&copy, out->data + before, out->len - before, "a new run", 1,
                         err);
        if (st == RF_OK)
            rf_run_release(&copy);
    }
    return st == RF_OK ? rf_buffer_add(out, "\n", 1, err) : st;
}

/* ---- Reading ----------------------------------------------------------------------- */

/* An optional value; *out gets its own reference. */
static rf_status read_part(json_t **out, json_t *line, const char *name, json_type type,
                           const rf_line_place *at)
{
    json_t *value = json_object_get(line, name);
    if (!value)
        return RF_OK;
    if (json_typeof(value) != type)
        return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                       "%s: line %zu: \"%s\" is %s, wanted %s", at->file, at->line, name,
                       rf_json_type(value),
                       type == JSON_OBJECT ? "an object" : "an array");
    *out = json_incref(value);
    return RF_OK;
}

static rf_status read_line(rf_run *run, json_t *line, const rf_line_place *at)
{
    rf_status st = rf_record_read(&form, run, line, at);
    if (st == RF_OK && (!run->set[0] || !run->method[0]))
        st = rf_fail(at->err, RF_ERR_FORMAT, at->line, "%s: line %zu: \"%s\" is empty",
                     at->file, at->line, run->set[0] ? "method" : "set");
    if (st == RF_OK)
        st = read_part(&run->settings, line, "settings", JSON_OBJECT, at);
    if (st == RF_OK)
        st = read_part(&run->confusions, line, "confusions", JSON_ARRAY, at);
    return st;
}

rf_status rf_run_read(rf_run *run, const char *text, size_t len, const char *file,
                      size_t line, rf_error *err)
{
    rf_error local = {0};
    rf_line_place at = {file, line, err ? err : &local};
    *run = (rf_run){0};
    json_t *object = rf_json_line(text, len, file, line, at.err);
    if (!object)
        return at.err->code;
    rf_status st = read_line(run, object, &at);
    json_decref(object);
    if (st != RF_OK)
        rf_run_release(run);
    return st;
}
