/* learning.c - progress, saving and reporting of an update */
#include "learning.h"

#include "base/json.h"
#include "screen.h"
#include "train_progress.h"
#include "update_text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int learning_progress(void *user, const rf_train_event *e)
{
    (void)user;
    static const char *const names[] = {
        [RF_STAGE_ENCODE] = "encoding new texts", [RF_STAGE_KNOWN] = "classifier",
        [RF_STAGE_FEATURES] = "features",         [RF_STAGE_OPEN] = "classes",
        [RF_STAGE_FOLDS] = "placing the fence",   [RF_STAGE_MAP] = "map"};
    if (e->total > 0)
        screen_progress_line(false, "%s: %zu of %zu", names[e->stage], e->done, e->total);
    return train_progress_signal();
}

rf_status learning_save(const rf_model *before, const rf_model *after, const char *path,
                        rf_error *err)
{
    rf_model_summary s;
    rf_save_options o = rf_save_options_default();
    rf_model_summarize(before, &s);
    o.slim = !s.encoder_contained;
    o.keep_examples = s.kept_texts;
    return rf_model_save(after, path, &o, err);
}

rf_status learning_show(const char *report, bool json, const rf_model *after,
                        const char *path, rf_error *err)
{
    struct stat s;
    if (json) {
        puts(report);
        return RF_OK;
    }
    json_t *object = rf_json_object(report, strlen(report), "the report", err);
    if (!object)
        return err->code;
    update_text_put(object);
    if (stat(path, &s) == 0)
        printf("\n%s: %zu classes, %.1f MB, in %.1f s\n", path, rf_model_classes(after),
               (double)s.st_size / 1e6,
               json_number_value(json_object_get(object, "seconds")));
    json_decref(object);
    return RF_OK;
}
