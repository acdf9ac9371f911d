/*
 * draw_map.h - the training rows of a model in the plane
 *
 *   rf_tsne_options o = rf_tsne_options_default();
 *   o.seed = seed;
 *   if (rf_draw_map(m, 4000, &o, team, err) != RF_OK) ...
 *
 * The map is t-SNE of the features as the model stores them, in half precision, centred
 * at 0 and scaled so that the largest coordinate is 1 or -1.
 */
#ifndef RF_STAGES_DRAW_MAP_H
#define RF_STAGES_DRAW_MAP_H

#include "map/tsne.h"
#include "model/model.h"

/* Fills map_n, map_rows and map_xy of a model with rows and no map; on failure it
 * still has none. */
rf_status rf_draw_map(rf_model *m, size_t most, const rf_tsne_options *options,
                      rf_team *team, rf_error *err);

/* The rows of the map, ascending: all, or `most` of them, shared evenly among the
 * classes (a smaller class gives all its rows). A remainder goes, one row each, to
 * randomly drawn classes. rows is [min(n_rows, most)]. */
rf_status rf_draw_map_rows(const rf_model *m, size_t most, uint64_t seed, int32_t *rows,
                           rf_error *err);

#endif
