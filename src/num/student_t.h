/* student_t.h - Student's t distribution */
#ifndef RF_NUM_STUDENT_T_H
#define RF_NUM_STUDENT_T_H

/* df > 0: P(|T| >= |t|), and the t that |T| exceeds with probability p,
 * 0 < p < 1. */
double rf_t_tails(double t, double df);
double rf_t_bound(double p, double df);

#endif
