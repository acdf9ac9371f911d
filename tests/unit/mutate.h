/*
 * mutate.h - random changes to a sealed file, of the kinds that find mistakes in readers
 *
 * The same number gives the same changes, so a case can be run again by itself.
 */
#ifndef RF_TEST_MUTATE_H
#define RF_TEST_MUTATE_H

#include "sealed.h"

#include <stdint.h>

/* One to three changes: to values of the description, to types, shapes and places of
 * tensors, to bytes and numbers in them. `what` gets a line about them. */
void mutate(sealed *s, uint64_t number, char *what, size_t room);

#endif
