"""Sessions of Spark: of the application that runs, or of one on this machine."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from graphdbg.client.errors import GraphdbgError

from .packages import MissingPackageError

_LOG_SETTINGS = Path(__file__).with_name("spark_log4j2.properties")
_GIB = 1 << 30


def new_session() -> Any:
    """A session with views and settings of its own, in which arithmetic follows the SQL standard (ANSI mode).

    It belongs to the application of the session that is active. If there is none, an application on all
    processors of this machine is started, which ends with this process.

    Raises:
        MissingPackageError: PySpark is not installed.
        GraphdbgError: There is no Java, or Spark does not start.
    """
    with warnings.catch_warnings():
        # PySpark warns of versions of pandas, of which nothing here makes use.
        warnings.simplefilter("ignore", FutureWarning)
        sql = _pyspark()
        active = sql.SparkSession.getActiveSession() or _local(sql.SparkSession)
        session = active.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    return session


def _pyspark() -> Any:
    try:
        return importlib.import_module("pyspark.sql")
    except ImportError as error:
        raise MissingPackageError(
            f"the engine spark needs PySpark and Java 17: pip install pyspark ({error})"
        ) from None


def _local(sessions: Any) -> Any:
    """The session of another thread, or the first one of a new application."""
    # spark-submit has started Java already, and knows the cluster.
    if "PYSPARK_GATEWAY_PORT" not in os.environ and _java() is None:
        raise GraphdbgError("the engine spark needs Java 17 or newer: apt install openjdk-17-jre-headless")
    # Rules in Python are evaluated by workers, which Spark starts by this name.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sessions.builder.appName("graphdbg")
    for name, value in _settings().items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        # PySparkRuntimeError, Py4JError and RuntimeError, depending on the version and the step that failed.
        raise GraphdbgError(f"Spark does not start: {error}") from None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")


def _settings() -> dict[str, str]:
    """The settings of an application on this machine. Without a master, Spark chooses `local[*]`."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{max(1, min(8, memory // 4 // _GIB))}g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
        # A laptop's share of the default, which is made for clusters.
        "spark.sql.shuffle.partitions": str(max(16, 4 * (os.cpu_count() or 1))),
    }
