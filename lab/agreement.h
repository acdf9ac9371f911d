/*
 * agreement.h - how well clusters agree with classes
 *
 * Accuracy is the share of texts in the right class if each cluster is given one class,
 * no two the same, in the best way (Kuhn 1955); clusters beyond the number of classes
 * have none. NMI is the mutual information divided by the mean of the two entropies, ARI
 * the adjusted Rand index (Hubert and Arabie 1985). All as scikit-learn defines them, in
 * per cent.
 */
#ifndef RF_LAB_AGREEMENT_H
#define RF_LAB_AGREEMENT_H

#include "base/error.h"

typedef struct rf_agreement {
    double accuracy, nmi, ari;
} rf_agreement;

/* truth [n] below classes and cluster [n] below clusters. Rows i with a `use` that is
 * false are left out; use may be NULL. NaN if there are none. */
rf_status rf_agreement_make(rf_agreement *a, const uint32_t *truth, size_t classes,
                            const uint32_t *cluster, size_t clusters, const bool *use,
                            size_t n, rf_error *err);

#endif
