/* encoder_list.h - ringfence encoder list */
#ifndef RF_CLI_ENCODER_LIST_H
#define RF_CLI_ENCODER_LIST_H

#include "base/error.h"

/* Prints the catalogue, the encoders from the hub that are in the cache, and what else
 * --encoder takes. */
rf_status encoder_list_print(rf_error *err);

#endif
