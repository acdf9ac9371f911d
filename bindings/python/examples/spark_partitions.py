"""Classify a data set of Spark, partition by partition.

    from spark_partitions import classifier
    answers = frame.select("id", "text").rdd.mapPartitions(classifier("support.rf"))

The model file must be where the workers find it (``SparkFiles`` or a shared disk). Each
worker process loads it once, and texts go to the library in batches.
"""

from functools import lru_cache
from itertools import islice
from typing import Any, Callable, Iterable, Iterator, List, Tuple

import ringfence


@lru_cache(maxsize=2)
def _model(path: str) -> ringfence.Model:
    return ringfence.load(path, threads=1)  # Spark runs a process for each core


def _batches(rows: Iterable[Any], size: int) -> Iterator[List[Any]]:
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch


def classifier(path: str, size: int = 1000) -> Callable[[Iterable[Any]], Iterator[Tuple[Any, str, float]]]:
    """A function for ``mapPartitions``: rows (id, text) become (id, label, confidence)."""

    def answer(rows: Iterable[Any]) -> Iterator[Tuple[Any, str, float]]:
        for batch in _batches(rows, size):
            found = _model(path).classify([text for _, text in batch], top=0)
            for (key, _), a in zip(batch, found):
                yield key, a.label, a.confidence

    return answer
