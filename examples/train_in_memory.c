/*
 * train_in_memory.c - train on texts in the program, then classify with the model
 *
 *   cc train_in_memory.c $(pkg-config --cflags --libs ringfence) -o train_in_memory
 *   ./train_in_memory "the chain of my bike fell off"       with the default encoder, or
 *   ./train_in_memory "the chain of my bike fell off" path/to/encoder
 */
#include <ringfence.h>

#include <stdio.h>
#include <string.h>

/* Real data should have 20 or more texts per class; this is enough for a first try. */
static const char *const rows[][2] = {
    {"where is my parcel", "delivery"},
    {"my order has not arrived yet", "delivery"},
    {"when will the bike be delivered", "delivery"},
    {"the tracking number does not work", "delivery"},
    {"it should have been here on Monday", "delivery"},
    {"the courier never rang the bell", "delivery"},
    {"my brakes squeak", "repair"},
    {"the chain came off", "repair"},
    {"how long does a repair take", "repair"},
    {"the gears do not shift any more", "repair"},
    {"a spoke of the rear wheel is broken", "repair"},
    {"the motor of my e-bike makes a noise", "repair"},
    {"I was charged twice", "payment"},
    {"can I pay by invoice", "payment"},
    {"my card was declined", "payment"},
    {"where do I enter the voucher code", "payment"},
    {"I need a receipt for last month", "payment"},
    {"when do I get my money back", "payment"},
};

/* Called regularly during training; returning anything but 0 stops it. */
static int show_progress(void *user, const rf_train_event *event)
{
    (void)user;
    if (event->epoch_end)
        fprintf(stderr, "epoch %zu: loss %.3f\n", event->epoch, event->loss);
    return 0;
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "the chain of my bike fell off";
    rf_error err;
    rf_dataset *data = rf_dataset_new(&err);
    rf_status st = data ? RF_OK : err.code;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && st == RF_OK; i++)
        st = rf_dataset_add(data, rows[i][0], strlen(rows[i][0]), rows[i][1],
                            strlen(rows[i][1]), &err);

    /* Start from the defaults and change only what you need. */
    rf_train_options options = rf_train_options_default();
    options.encoder = argc > 2 ? argv[2] : NULL; /* NULL: minilm, from the cache */
    options.dev_share = -1.0;                    /* too few texts to hold some out */
    options.settings = "epochs=20";
    options.progress = show_progress;
    rf_model *model = st == RF_OK ? rf_train(data, NULL, &options, &err) : NULL;
    rf_dataset_free(data); /* the model no longer needs it */

    /* rf_model_save would store the model; here it is used at once. */
    rf_session *session = model ? rf_session_new(model, 0, &err) : NULL;
    rf_decision d;
    bool good = session && rf_classify(session, text, strlen(text), &d, &err) == RF_OK;
    if (good)
        printf("%s\t%.4f\n", rf_model_label(model, d.class_index), (double)d.confidence);
    else
        fprintf(stderr, "train_in_memory: %s\n", err.msg);

    rf_session_free(session);
    rf_model_free(model);
    return !good;
}
