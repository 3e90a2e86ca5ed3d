"""The tables of a packed run in Spark."""

from __future__ import annotations

import os
from typing import Any

from .errors import NotRecorded, RunNotFoundError
from .files import open_files
from .packed import DIRECTORY
from .rank import rank_numbers
from .tables import VIEWS


def spark_views(spark: Any, path: str | os.PathLike[str]) -> list[str]:
    """Makes the tables of a packed run temporary views of a Spark session, for `spark.sql`.

    They have the columns of `Run.sql`'s tables. `rank` is a directory of the files, so a query of one rank
    reads no other rank's. What is not packed yet is not in them.

    Args:
        spark: A pyspark.sql.SparkSession.
        path: The run's directory, or a URL that the session can read, too.

    Returns:
        The names of the views: those of statistics, changes, steps, tensors, nodes and hits that have rows.

    Raises:
        RunNotFoundError: There is no run.
        NotRecorded: The run is not packed: see `graphdbg pack`.
    """
    files = open_files(path)
    if not rank_numbers(files):
        raise RunNotFoundError(files.name)
    packed = [view for view in VIEWS if files.names(f"{DIRECTORY}/{view}")]
    if not packed:
        raise NotRecorded(f"{files.name} is not packed: graphdbg pack {files.name}")
    for view in packed:
        spark.read.parquet(f"{files.name}/{DIRECTORY}/{view}").createOrReplaceTempView(view)
    return packed
