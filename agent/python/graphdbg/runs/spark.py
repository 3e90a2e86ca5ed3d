"""The tables of a packed run in Spark."""

from __future__ import annotations

import os
from typing import Any

from .errors import NotRecorded, RunNotFoundError
from .files import open_files
from .packages import load
from .packed import DIRECTORY
from .rank import rank_numbers
from .tables import VIEWS
from .views import empty_table

_TYPES = {"int8": "tinyint", "int32": "int", "int64": "bigint", "double": "double", "bool": "boolean"}


def spark_views(spark: Any, path: str | os.PathLike[str]) -> list[str]:
    """Makes the tables of a packed run temporary views of a Spark session, for `spark.sql`.

    They have the columns of `Run.sql`'s tables. `rank` is a directory of the files, so a query of one rank
    reads no other rank's. What is not packed yet is not in them.

    Args:
        spark: A pyspark.sql.SparkSession.
        path: The run's directory, or a URL that the session can read, too.

    Returns:
        The names of the views that have rows, of statistics, changes, units, steps, tensors, nodes and hits.

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
    # A packing process that died leaves files with other endings.
    reader = spark.read.option("pathGlobFilter", "*.parquet")
    for view in VIEWS:
        place = f"{files.name}/{DIRECTORY}/{view}"
        frame = reader.parquet(place) if view in packed else spark.sql(_nothing(view))
        frame.createOrReplaceTempView(view)
    return packed


def _nothing(view: str) -> str:
    """A query whose answer has the columns of a view and no rows."""
    columns = [f"cast(null as {_type(field.type)}) as `{field.name}`" for field in empty_table(view).schema]
    return f"select {', '.join(columns)} where false"


def _type(arrow: Any) -> str:
    """The name in SQL of an Arrow type."""
    types = load("pyarrow.types", "the tables of a run in Spark")
    if types.is_list(arrow):
        return f"array<{_type(arrow.value_type)}>"
    if types.is_map(arrow):
        return f"map<{_type(arrow.key_type)}, {_type(arrow.item_type)}>"
    return _TYPES.get(str(arrow), "string")
