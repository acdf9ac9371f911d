/*
 * drift_tests.c - the two tests behind the drift report: shares and means
 *
 * Blocks differ by more than chance: texts come in bursts, and nights are not days. Both
 * tests therefore estimate, from the blocks before, how much a block deviates from the
 * overall figure beyond sampling, by the method of moments, and count that as noise.
 */
#include "drift.h"

#include "tails.h"

#include <math.h>

static double row_sum(const double *row, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += row[i];
    return sum;
}

/*
 * Counts of a block of n answers vary as a Dirichlet-multinomial with correlation rho:
 * the variance of a share p is p (1 - p) (1 + (n - 1) rho) / n. With X2 the Pearson
 * statistic of homogeneity of the blocks before, over k kinds and h blocks,
 *
 *   E X2 = (k - 1) sum_i (1 + (n_i - 1) rho) (1 - n_i / N)
 *
 * gives rho, at least 0. The difference of recent and earlier shares then has the
 * variance p (1 - p) V, with V below, and
 *
 *   F = sum_k (p1_k - p0_k)^2 / p_k / V / (k - 1),   p_k of both together
 *
 * is compared with F(k - 1, (h - 1)(k - 1)). For rho = 0, F (k - 1) is the Pearson
 * statistic of the two rows.
 */
drift_test drift_shares(const double *counts, size_t n_blocks, size_t n_cells,
                        double *work)
{
    drift_test t = {.p = 1.0, .p_holm = 1.0};
    double total = 0.0, blocks = 0.0, x2 = 0.0, room = 0.0, squares = 0.0;
    const double *recent = counts + n_blocks * n_cells;
    double n1 = row_sum(recent, n_cells);
    for (size_t k = 0; k < n_cells; k++)
        work[k] = 0.0;
    for (size_t i = 0; i < n_blocks; i++)
        for (size_t k = 0; k < n_cells; k++)
            work[k] += counts[i * n_cells + k];
    total = row_sum(work, n_cells);
    for (size_t i = 0; i < n_blocks; i++) {
        const double *row = counts + i * n_cells;
        double n = row_sum(row, n_cells);
        if (n == 0.0)
            continue;
        blocks++;
        room += (n - 1.0) * (1.0 - n / total);
        squares += n * n;
        for (size_t k = 0; k < n_cells; k++) {
            double want = n * work[k] / total;
            if (want > 0.0)
                x2 += (row[k] - want) * (row[k] - want) / want;
        }
    }
    double kinds = 0.0, distance = 0.0;
    for (size_t k = 0; k < n_cells; k++)
        kinds += work[k] > 0.0;
    double rho = 0.0;
    if (kinds > 1.0 && room > 0.0)
        rho = (x2 / (kinds - 1.0) - (blocks - 1.0)) / room;
    rho = rho > 0.0 ? fmin(rho, 1.0) : 0.0;
    kinds = 0.0;
    for (size_t k = 0; k < n_cells; k++) {
        double p = (work[k] + recent[k]) / (total + n1);
        double d = recent[k] / n1 - work[k] / total;
        if (p > 0.0) {
            kinds++;
            distance += d * d / p;
        }
    }
    /* sum_i (n_i / N)^2 (1 + (n_i - 1) rho) / n_i, and the same of the recent block */
    double v = (1.0 + (n1 - 1.0) * rho) / n1 + (1.0 - rho) / total +
               rho * squares / (total * total);
    t.spread = rho;
    if (kinds < 2.0 || blocks < 2.0)
        return t; /* all answers are of one kind, before and after */
    t.df1 = kinds - 1.0;
    t.df2 = (blocks - 1.0) * t.df1;
    t.statistic = distance / v / t.df1;
    t.p = tail_f(t.statistic, t.df1, t.df2);
    return t;
}

/*
 * Welch's t test with a variance between blocks, tau^2 (DerSimonian and Laird): with
 * m_i the mean of a block, s^2 the variance within blocks and w_i = n_i / s^2,
 *
 *   Q = sum_i w_i (m_i - m)^2,   tau^2 = (Q - (h - 1)) / (sum w - sum w^2 / sum w)
 *
 * at least 0. t has the smaller of Welch's degrees of freedom and h - 1.
 */
drift_test drift_mean(const double *n, const double *sum, const double *squares,
                      size_t n_blocks)
{
    drift_test t = {.p = 1.0, .p_holm = 1.0, .df1 = 1.0};
    double total = 0.0, all = 0.0, all_squares = 0.0, within = 0.0, blocks = 0.0,
           n_squares = 0.0, n1 = n[n_blocks];
    for (size_t i = 0; i < n_blocks; i++) {
        if (n[i] == 0.0)
            continue;
        blocks++;
        total += n[i];
        all += sum[i];
        all_squares += squares[i];
        n_squares += n[i] * n[i];
        within += squares[i] - sum[i] * sum[i] / n[i];
    }
    t.before = all / total;
    t.after = sum[n_blocks] / n1;
    if (blocks < 2.0 || n1 < 2.0 || total <= blocks)
        return t;
    double between = 0.0, tau2 = 0.0, s2 = fmax(within, 0.0) / (total - blocks);
    for (size_t i = 0; i < n_blocks; i++)
        if (n[i] > 0.0)
            between += n[i] * (sum[i] / n[i] - t.before) * (sum[i] / n[i] - t.before);
    /* Q and the weights, both times s^2 */
    tau2 = fmax(0.0, (between - (blocks - 1.0) * s2) / (total - n_squares / total));
    double v1 = fmax(0.0, squares[n_blocks] - n1 * t.after * t.after) / (n1 - 1.0) / n1;
    double v0 =
        fmax(0.0, all_squares - total * t.before * t.before) / (total - 1.0) / total;
    double v = v1 + v0 + tau2 * (1.0 + n_squares / (total * total));
    t.spread = sqrt(tau2);
    t.df2 = blocks - 1.0;
    if (v <= 0.0) { /* all margins are equal */
        t.p = t.after == t.before ? 1.0 : 0.0;
        return t;
    }
    double welch =
        (v1 + v0) * (v1 + v0) / (v1 * v1 / (n1 - 1.0) + v0 * v0 / (total - 1.0));
    if (welch < t.df2)
        t.df2 = welch;
    t.statistic = (t.after - t.before) / sqrt(v);
    t.p = tail_t(t.statistic, t.df2);
    return t;
}
