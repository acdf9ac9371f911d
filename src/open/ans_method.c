/*
 * ans_method.c - ANS and vanilla one-versus-rest in the table of methods
 *
 * Their heads are no arrays of a fence (they live as panels, open/heads.h), and the
 * session runs them head by head; the table only says so.
 */
#include "open/method.h"

const rf_method rf_method_ans = {
    .name = "ans",
    .title = "ANS",
    .summary = "adaptive negative samples: one network per class (the default)",
    .heads = true};

const rf_method rf_method_ovr = {
    .name = "ovr",
    .title = "One-versus-rest",
    .summary = "one network per class without synthetic negatives: ans with lambda 0",
    .heads = true};
