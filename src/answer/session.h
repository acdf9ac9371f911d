/* session.h - internal functions of a session, beyond ringfence.h */
#ifndef RF_ANSWER_SESSION_H
#define RF_ANSWER_SESSION_H

#include "model/model.h"

/* The model it answers from. */
const rf_model *rf_session_model(const rf_session *s);

#endif
