/*
 * recognise.h - what the first bytes of a file look like, one function per format
 */
#ifndef RF_DATA_RECOGNISE_H
#define RF_DATA_RECOGNISE_H

#include "data/formats.h"

bool rf_looks_like_tsv(const rf_glimpse *g);
bool rf_looks_like_csv(const rf_glimpse *g);
bool rf_looks_like_jsonl(const rf_glimpse *g);
bool rf_looks_like_luis(const rf_glimpse *g);
bool rf_looks_like_snips(const rf_glimpse *g);
bool rf_looks_like_json(const rf_glimpse *g);
bool rf_looks_like_fasttext(const rf_glimpse *g);
bool rf_looks_like_rasa_yaml(const rf_glimpse *g);
bool rf_looks_like_rasa_md(const rf_glimpse *g);

#endif
