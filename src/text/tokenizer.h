/* tokenizer.h - what the embedder needs of a tokenizer beyond the public calls */
#ifndef RF_TEXT_TOKENIZER_H
#define RF_TEXT_TOKENIZER_H

#include "ringfence.h"

/* A text has been begun by rf_tokenizer_feed and not ended. */
bool rf_tokenizer_in_text(const rf_tokenizer *t);

/* Forget the current text, if there is one. */
void rf_tokenizer_reset(rf_tokenizer *t);

#endif
