/* session.h - what other modules ask of a session beyond ringfence.h */
#ifndef RF_MODEL_SESSION_H
#define RF_MODEL_SESSION_H

#include "model/model.h"

/* The model it answers from. */
const rf_model *rf_session_model(const rf_session *s);

#endif
