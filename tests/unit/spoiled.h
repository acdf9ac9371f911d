/* spoiled.h - a copy of the tiny encoder that a test may spoil, and what loading it says
 */
#ifndef RF_TEST_SPOILED_H
#define RF_TEST_SPOILED_H

#include "scratch.h"

#define TINY GOLDEN_DIR "/tiny/"

static char dir[RF_PATH_MAX]; /* the copy that a test may spoil */

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_encoder(dir, "encoder");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

/* Loading fails with this code, and the message names the directory, a and b. */
static void refuse(rf_status code, const char *a, const char *b)
{
    rf_error err = {0};
    if (rf_encoder_load(dir, &err))
        fail_msg("loaded, wanted a complaint: %s, %s", a, b);
    assert_error(&err, code, dir, a, b);
    assert_null(rf_encoder_load(dir, NULL));
}

static void accept(void)
{
    rf_error err = {0};
    rf_encoder *e = rf_encoder_load(dir, &err);
    if (!e)
        fail_msg("%s", err.msg);
    rf_encoder_free(e);
}

#endif
