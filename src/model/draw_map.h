/*
 * draw_map.h - the training rows of a model in the plane
 *
 *   rf_tsne_options o = rf_tsne_options_default();
 *   o.seed = seed;
 *   if (rf_draw_map(m, 4000, &o, team, err) != RF_OK) ...
 *
 * The map is t-SNE of the features as the model keeps them, in half precision, about 0
 * and scaled so that the largest coordinate is 1 or -1.
 */
#ifndef RF_MODEL_DRAW_MAP_H
#define RF_MODEL_DRAW_MAP_H

#include "map/tsne.h"
#include "model/model.h"

/* Fills map_n, map_rows and map_xy of a model that has rows and no map; on failure it has
 * none. */
rf_status rf_draw_map(rf_model *m, size_t most, const rf_tsne_options *options,
                      rf_team *team, rf_error *err);

/* The rows of the map, ascending: all of them, or, of more, `most` by class. Every class
 * gets the same number, or all its rows if they are fewer; what cannot be shared out
 * evenly goes, one each, to classes that are drawn. rows is [min(n_rows, most)]. */
rf_status rf_draw_map_rows(const rf_model *m, size_t most, uint64_t seed, int32_t *rows,
                           rf_error *err);

#endif
