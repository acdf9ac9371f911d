/* lab_model.c - trains as the program does, with the settings of the lab */
#include "lab/lab_model.h"

#include "num/kernels.h"

#include <stdio.h>
#include <string.h>

rf_status rf_lab_trainer_init(rf_lab_trainer *t, const rf_lab_context *c,
                              const rf_method *method, uint64_t seed, const char *what,
                              rf_error *err)
{
    char encoder[RF_SHA256_HEX], text[512];
    *t = (rf_lab_trainer){.c = c, .method = method, .seed = seed};
    rf_status st = rf_lab_asked(c, method, seed, "", t->asked, err);
    rf_model *m = st == RF_OK ? rf_model_new(err) : NULL;
    if (st == RF_OK)
        st = m ? rf_model_use_encoder(m, c->encoder, err) : RF_ERR_NOMEM;
    if (st == RF_OK) {
        size_t positions = m->encoder->config.positions;
        t->max_tokens = c->set.max_tokens < positions ? c->set.max_tokens : positions;
        rf_model_encoder_hash(m, encoder);
        snprintf(text, sizeof text, "%s %s %s %s %s", RF_VERSION, rf_kernels_name(),
                 t->asked, encoder, what);
        rf_sha256_bytes(text, strlen(text), t->hash);
    }
    rf_model_free(m);
    return st;
}

rf_model *rf_lab_train(const rf_lab_trainer *t, const rf_dataset *train,
                       const rf_dataset *dev, rf_error *err)
{
    const rf_lab_context *c = t->c;
    rf_train_options o = rf_train_options_default();
    o.encoder = c->encoder;
    o.method = t->method->name;
    o.seed = t->seed;
    o.settings = c->o->settings;
    o.threads = rf_team_size(c->team);
    o.max_tokens = t->max_tokens;
    o.progress = c->progress;
    o.user = c->user;
    return rf_train(train, dev, &o, err);
}

rf_status rf_lab_add_row(rf_dataset *to, const rf_dataset *from, size_t row,
                         const char *label, rf_error *err)
{
    size_t len;
    const char *text = rf_dataset_text(from, row, &len);
    if (!label)
        label = rf_dataset_label(from, rf_dataset_class(from, row), NULL);
    return rf_dataset_add(to, text, len, label, strlen(label), err);
}
