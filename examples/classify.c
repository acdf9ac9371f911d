/*
 * classify.c - load a model and classify the texts given as arguments
 *
 *   cc classify.c $(pkg-config --cflags --libs ringfence) -o classify
 *   ./classify support.rf "where is my parcel" "what is the capital of Peru"
 *
 * Prints one line per text: the class, or "open" if the text belongs to none of them, and
 * the confidence. To train the model: ringfence train train.tsv -o support.rf
 */
#include <ringfence.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: classify MODEL TEXT...\n");
        return 2;
    }

    /* Every call that can fail says why in an rf_error. */
    rf_error err;
    rf_model *model = rf_model_load(argv[1], &err);
    if (!model) {
        fprintf(stderr, "classify: %s\n", err.msg);
        return 1;
    }

    /* A model is read-only and can be shared by threads; a session is the working memory
     * of one thread. 0: use all CPUs. */
    rf_session *session = rf_session_new(model, 0, &err);
    int failed = session == NULL;

    for (int i = 2; i < argc && !failed; i++) {
        rf_decision d;
        if (rf_classify(session, argv[i], strlen(argv[i]), &d, &err) != RF_OK) {
            failed = 1;
            break;
        }
        /* class_index is RF_OPEN for a text of no class; its label is "open". Even then
         * d.nearest is the nearest class. */
        printf("%s\t%.4f", rf_model_label(model, d.class_index), (double)d.confidence);
        if (d.class_index == RF_OPEN)
            printf("\t(nearest: %s)", rf_model_label(model, d.nearest));
        printf("\n");
    }
    if (failed)
        fprintf(stderr, "classify: %s\n", err.msg);

    rf_session_free(session); /* like every _free, accepts NULL */
    rf_model_free(model);
    return failed;
}
