/* orders.h - a few texts of three classes, for models that are made quickly */
#ifndef RF_TEST_ORDERS_H
#define RF_TEST_ORDERS_H

#include "ringfence.h"
#include "scratch.h"

#include <stdio.h>

static inline rf_dataset *orders_new(void)
{
    rf_dataset *data = rf_dataset_new(NULL);
    for (int i = 0; i < 15; i++) {
        char text[32], label[8];
        int n = snprintf(text, sizeof text, "where is order %d", i * 7);
        int m = snprintf(label, sizeof label, "c%d", i % 3);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
    }
    return data;
}

/* Enough rows of one class that it gets a head. */
static inline rf_dataset *orders_new_with_head(void)
{
    rf_dataset *data = orders_new();
    for (int i = 0; i < 50; i++)
        assert_int_equal(rf_dataset_add(data, "hello again", 11, "c0", 2, NULL), RF_OK);
    return data;
}

#endif
