/* tails.h - p values: tails of the F, t and hypergeometric distributions */
#ifndef RF_STORE_TAILS_H
#define RF_STORE_TAILS_H

/* P(F >= x) with d1 and d2 degrees of freedom; all above 0 (x: or 0). */
double tail_f(double x, double d1, double d2);

/* P(|T| >= |t|) with df degrees of freedom. */
double tail_t(double t, double df);

/* Fisher's exact test, two-sided: a of n1 against b of n0, whole numbers. The sum of the
 * probabilities of all tables with these margins that are no more likely than this one.
 */
double tail_fisher(double a, double n1, double b, double n0);

#endif
