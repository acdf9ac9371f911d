/* tokenizer.h - what the embedder uses of a tokenizer beyond the public calls */
#ifndef RF_TEXT_TOKENIZER_H
#define RF_TEXT_TOKENIZER_H

#include "ringfence_encoder.h"

/* Whether a text was started by rf_tokenizer_feed and not ended. */
bool rf_tokenizer_in_text(const rf_tokenizer *t);

/* Discards the current text, if any. */
void rf_tokenizer_reset(rf_tokenizer *t);

#endif
