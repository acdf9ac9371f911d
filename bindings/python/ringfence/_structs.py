"""The structs of ``ringfence.h`` and its companions, field by field.

A test compiles the headers and compares the size of each struct and the place of each
field with what is written here.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint64,
    c_void_p,
)

OPEN = c_size_t(-1).value  # RF_OPEN, and SIZE_MAX where that stands for none
REASON_MAX = 2400
PATH_MAX = 4096
MAX_THREADS = 256
MAX_FENCE = 1e6

LINE_PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p)


class rf_error(ctypes.Structure):
    _fields_ = [("code", c_int), ("pos", c_size_t), ("msg", c_char * 512)]


# ---- ringfence.h ---------------------------------------------------------------------


class rf_model_summary(ctypes.Structure):
    _fields_ = [
        ("program", c_char_p),
        ("method", c_char_p),
        ("encoder", c_char_p),
        ("encoder_sha256", c_char_p),
        ("encoder_contained", c_bool),
        ("layers", c_size_t),
        ("tuned_layers", c_size_t),
        ("width", c_size_t),
        ("parameters", c_size_t),
        ("max_tokens", c_size_t),
        ("classes", c_size_t),
        ("rows", c_size_t),
        ("dev_rows", c_size_t),
        ("dev_held_out", c_bool),
        ("dev_unknown", c_size_t),
        ("open_texts", c_size_t),
        ("cut_texts", c_size_t),
        ("epochs", c_size_t),
        ("best_epoch", c_size_t),
        ("loss", c_double),
        ("dev_accuracy", c_double),
        ("kept_rows", c_size_t),
        ("kept_texts", c_bool),
        ("map_points", c_size_t),
    ]


class rf_save_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("slim", c_bool),
        ("no_features", c_bool),
        ("keep_examples", c_bool),
    ]


class rf_decision(ctypes.Structure):
    _fields_ = [
        ("class_index", c_size_t),
        ("confidence", c_float),
        ("margin", c_float),
        ("margin_class", c_size_t),
        ("nearest", c_size_t),
        ("probabilities", c_void_p),
        ("margins", c_void_p),
        ("feature", c_void_p),
    ]


class rf_answer_arrays(ctypes.Structure):
    _fields_ = [
        ("class_index", c_void_p),
        ("margin_class", c_void_p),
        ("nearest", c_void_p),
        ("confidence", c_void_p),
        ("margin", c_void_p),
        ("probabilities", c_void_p),
        ("margins", c_void_p),
        ("features", c_void_p),
    ]


class rf_neighbour(ctypes.Structure):
    _fields_ = [
        ("text", c_void_p),
        ("text_len", c_size_t),
        ("class_index", c_size_t),
        ("distance", c_float),
    ]


class rf_class_score(ctypes.Structure):
    _fields_ = [
        ("support", c_size_t),
        ("predicted", c_size_t),
        ("correct", c_size_t),
        ("precision", c_double),
        ("recall", c_double),
        ("f1", c_double),
    ]


class rf_reliability_bin(ctypes.Structure):
    _fields_ = [
        ("count", c_size_t),
        ("correct", c_size_t),
        ("confidence", c_double),
        ("right", c_double),
    ]


class rf_confusion(ctypes.Structure):
    _fields_ = [("truth", c_size_t), ("answer", c_size_t), ("count", c_size_t)]


class rf_evaluation(ctypes.Structure):
    _fields_ = [
        ("n", c_size_t),
        ("n_open", c_size_t),
        ("classes", c_size_t),
        ("accuracy", c_double),
        ("f1", c_double),
        ("f1_known", c_double),
        ("f1_open", c_double),
        ("scores", POINTER(rf_class_score)),
        ("confusion", POINTER(rf_confusion)),
        ("n_confusion", c_size_t),
        ("calibration_error", c_double),
        ("reliability", rf_reliability_bin * 10),
        ("f1_tested", c_double),
        ("mcc", c_double),
        ("auroc", c_double),
    ]


class rf_report_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("title", c_char_p),
        ("threads", c_size_t),
        ("max_points", c_size_t),
        ("seed", c_uint64),
        ("progress", LINE_PROGRESS),
        ("user", c_void_p),
    ]


class rf_train_event(ctypes.Structure):
    _fields_ = [
        ("stage", c_int),
        ("done", c_size_t),
        ("total", c_size_t),
        ("epoch", c_size_t),
        ("epochs", c_size_t),
        ("epoch_end", c_bool),
        ("loss", c_double),
        ("dev_accuracy", c_double),
        ("seconds", c_double),
        ("seconds_left", c_double),
    ]


TRAIN_PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(rf_train_event))


class rf_train_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("encoder", c_char_p),
        ("method", c_char_p),
        ("settings", c_char_p),
        ("open_texts", c_void_p),
        ("seed", c_uint64),
        ("threads", c_size_t),
        ("max_tokens", c_size_t),
        ("dev_share", c_double),
        ("cache_mb", c_int64),
        ("cache_dir", c_char_p),
        ("tune", c_int),
        ("max_false_accept", c_double),
        ("max_false_reject", c_double),
        ("map_points", c_int64),
        ("checkpoint", c_char_p),
        ("resume", c_bool),
        ("progress", TRAIN_PROGRESS),
        ("user", c_void_p),
    ]


class rf_data_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("format", c_int),
        ("header", c_int),
        ("text_column", c_char_p),
        ("label_column", c_char_p),
        ("raw_tsv", c_bool),
        ("skip_bad_rows", c_bool),
        ("texts_only", c_bool),
        ("delimiter", c_char),
        ("encoding", c_char_p),
        ("part", c_char_p),
        ("max_unpacked", c_size_t),
    ]


# ---- ringfence_improve.h -------------------------------------------------------------


class rf_finding(ctypes.Structure):
    _fields_ = [
        ("kind", c_int),
        ("rows", POINTER(c_size_t)),
        ("n_rows", c_size_t),
        ("n_good", c_size_t),
        ("class_index", c_size_t),
        ("other_class", c_size_t),
        ("suggested", c_size_t),
        ("score", c_double),
        ("message", c_char_p),
        ("fix", c_char_p),
    ]


class rf_check_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("encoder", c_char_p),
        ("no_encoder", c_bool),
        ("threads", c_size_t),
        ("max_rows", c_size_t),
        ("ignore", c_uint64),
        ("open_labels", POINTER(c_char_p)),
        ("n_open_labels", c_size_t),
        ("progress", LINE_PROGRESS),
        ("user", c_void_p),
    ]


class rf_fence_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("best", c_int),
        ("max_false_accept", c_double),
        ("max_false_reject", c_double),
        ("per_class", c_bool),
        ("seed", c_uint64),
        ("threads", c_size_t),
        ("progress", LINE_PROGRESS),
        ("user", c_void_p),
        ("fixed", c_bool),
        ("offset", c_double),
    ]


class rf_figure(ctypes.Structure):
    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double)]


class rf_fence_figures(ctypes.Structure):
    _fields_ = [
        ("accuracy", rf_figure),
        ("f1", rf_figure),
        ("known_as_open", rf_figure),
        ("open_let_in", rf_figure),
    ]


class rf_fence_result(ctypes.Structure):
    _fields_ = [
        ("rows", c_size_t),
        ("open_rows", c_size_t),
        ("offset", c_double),
        ("own_offsets", c_size_t),
        ("before", rf_fence_figures),
        ("expected", rf_fence_figures),
    ]


class rf_class_edit(ctypes.Structure):
    _fields_ = [("from", c_char_p), ("to", c_char_p), ("merge", c_bool)]


class rf_update_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("edits", POINTER(rf_class_edit)),
        ("n_edits", c_size_t),
        ("dev", c_void_p),
        ("seed", c_uint64),
        ("threads", c_size_t),
        ("progress", TRAIN_PROGRESS),
        ("user", c_void_p),
    ]


class rf_difference(ctypes.Structure):
    _fields_ = [
        ("n", c_size_t),
        ("value", c_double * 2),
        ("difference", c_double),
        ("low", c_double),
        ("high", c_double),
        ("beyond_chance", c_bool),
    ]


class rf_class_difference(ctypes.Structure):
    _fields_ = [
        ("label", c_char_p),
        ("class_index", c_size_t * 2),
        ("known", c_bool * 2),
        ("score", rf_class_score * 2),
        ("only_right", c_size_t * 2),
        ("p", c_double),
        ("different", c_bool),
    ]


class rf_change(ctypes.Structure):
    _fields_ = [
        ("kind", c_int),
        ("row", c_size_t),
        ("answer", c_size_t * 2),
        ("confidence", c_float * 2),
    ]


class rf_comparison(ctypes.Structure):
    _fields_ = [
        ("model", c_void_p * 2),
        ("n", c_size_t),
        ("n_known", c_size_t),
        ("n_open", c_size_t),
        ("n_one", c_size_t * 2),
        ("both_right", c_size_t),
        ("accuracy", rf_difference),
        ("f1", rf_difference),
        ("known_rejected", rf_difference),
        ("open_accepted", rf_difference),
        ("beyond_chance", c_bool),
        ("n_tested", c_size_t),
        ("n_different", c_size_t),
        ("scatter", c_double),
        ("classes", POINTER(rf_class_difference)),
        ("n_classes", c_size_t),
        ("changes", POINTER(rf_change)),
        ("n_changes", c_size_t),
        ("n_kind", c_size_t * 3),
        ("evaluation", rf_evaluation * 2),
    ]


# ---- ringfence_review.h --------------------------------------------------------------


class rf_review_text(ctypes.Structure):
    _fields_ = [
        ("text", c_void_p),
        ("len", c_size_t),
        ("rows", POINTER(c_size_t)),
        ("count", c_size_t),
        ("kind", c_int),
        ("group", c_size_t),
        ("class_index", c_size_t),
        ("rejected", c_bool),
        ("margin", c_float),
        ("confidence", c_float),
        ("fit", c_double),
    ]


class rf_review_group(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("first", c_size_t),
        ("n_texts", c_size_t),
        ("count", c_size_t),
        ("nearest", c_size_t),
        ("n_nearest", c_size_t),
        ("cohesion", c_double),
        ("worth", c_double),
    ]


class rf_review_summary(ctypes.Structure):
    _fields_ = [
        ("texts", c_size_t),
        ("rejected", c_size_t),
        ("doubtful", c_size_t),
        ("different", c_size_t),
        ("in_groups", c_size_t),
        ("known", c_size_t),
        ("alone", c_size_t),
        ("level", c_double),
    ]


class rf_review_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("doubt", c_double),
        ("min_texts", c_size_t),
        ("threads", c_size_t),
        ("progress", LINE_PROGRESS),
        ("user", c_void_p),
    ]


# ---- ringfence_encoder.h -------------------------------------------------------------


class rf_catalogue_entry(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("title", c_char_p),
        ("package", c_char_p),
        ("licence", c_char_p),
        ("note", c_char_p),
        ("download_mb", c_uint),
        ("alias", c_char_p),
        ("language", c_char_p),
        ("speed", c_char_p),
    ]


class rf_encoder_info(ctypes.Structure):
    _fields_ = [
        ("layers", c_size_t),
        ("width", c_size_t),
        ("heads", c_size_t),
        ("inner", c_size_t),
        ("vocab_size", c_size_t),
        ("max_tokens", c_size_t),
        ("parameters", c_size_t),
    ]


class rf_embed_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_size_t),
        ("pooling", c_int),
        ("long_text", c_int),
        ("max_tokens", c_size_t),
        ("layer", c_int),
        ("precision", c_int),
    ]
