/* dev_score.c - accuracy and macro-F1 from counts per class */
#include "methods/dev_score.h"

#include <stdlib.h>
#include <string.h>

rf_status rf_dev_score_init(rf_dev_score *s, size_t classes, rf_error *err)
{
    *s = (rf_dev_score){.classes = classes};
    s->truth = calloc(classes ? classes : 1, 3 * sizeof *s->truth);
    if (!s->truth)
        return rf_fail_nomem(err, classes * 3 * sizeof *s->truth, "scores");
    s->found = s->truth + classes;
    s->right = s->found + classes;
    return RF_OK;
}

void rf_dev_score_release(rf_dev_score *s)
{
    free(s->truth);
    *s = (rf_dev_score){0};
}

void rf_dev_score_clear(rf_dev_score *s)
{
    memset(s->truth, 0, s->classes * 3 * sizeof *s->truth);
}

void rf_dev_score_count(rf_dev_score *s, size_t truth, size_t answer)
{
    s->truth[truth]++;
    s->found[answer]++;
    s->right[truth] += truth == answer;
}

void rf_dev_score_add(rf_dev_score *s, const float *logits, const uint32_t *class_of,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float *p = logits + i * s->classes;
        size_t top = 0, y = class_of[i];
        if (y >= s->classes)
            continue;
        for (size_t c = 1; c < s->classes; c++)
            if (p[c] > p[top])
                top = c;
        rf_dev_score_count(s, y, top);
    }
}

double rf_dev_score_accuracy(const rf_dev_score *s)
{
    size_t rows = 0, right = 0;
    for (size_t c = 0; c < s->classes; c++) {
        rows += s->truth[c];
        right += s->right[c];
    }
    return rows ? 100.0 * (double)right / (double)rows : 0.0;
}

double rf_dev_score_f1(const rf_dev_score *s)
{
    double sum = 0.0;
    size_t present = 0;
    for (size_t c = 0; c < s->classes; c++) {
        size_t both = s->truth[c] + s->found[c];
        if (both == 0)
            continue;
        sum += 2.0 * (double)s->right[c] / (double)both;
        present++;
    }
    return present ? 100.0 * sum / (double)present : 0.0;
}
