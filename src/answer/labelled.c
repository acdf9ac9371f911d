/* labelled.c - hands the rows of a data set to a session, and the truth to the sink */
#include "answer/labelled.h"

#include "answer/session.h"

#include <stdlib.h>
#include <string.h>

typedef struct passing {
    const rf_dataset *data;
    size_t *truth; /* [classes of the data] class of the model, or RF_OPEN */
    size_t row;
    rf_labelled_sink sink;
    void *user;
} passing;

static rf_status pass_on(void *user, const rf_decision *decision, rf_error *err)
{
    passing *p = user;
    size_t row = p->row++;
    return p->sink(p->user, row, p->truth[rf_dataset_class(p->data, row)], decision, err);
}

rf_status rf_classify_labelled(rf_session *session, const rf_dataset *data,
                               rf_labelled_sink sink, void *user, rf_error *err)
{
    size_t n = rf_dataset_rows(data), classes = rf_dataset_classes(data);
    const char **texts = calloc(n + 1, sizeof *texts); /* + 1: not NULL if empty */
    size_t *lens = calloc(n + 1, sizeof *lens);
    passing p = {.data = data,
                 .truth = calloc(classes + 1, sizeof *p.truth),
                 .sink = sink,
                 .user = user};
    rf_status st = RF_OK;
    if (texts && lens && p.truth) {
        for (size_t i = 0; i < n; i++)
            texts[i] = rf_dataset_text(data, i, &lens[i]);
        for (size_t c = 0; c < classes; c++) {
            const char *label = rf_dataset_label(data, c, NULL);
            p.truth[c] = rf_model_find(rf_session_model(session), label, strlen(label));
        }
        st = rf_classify_all(session, texts, lens, n, pass_on, &p, err);
    } else {
        st = rf_fail_nomem(err, n * (sizeof *texts + sizeof *lens), "labelled rows");
    }
    free(texts);
    free(lens);
    free(p.truth);
    return st;
}
