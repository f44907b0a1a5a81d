"""Open a Spark session. Only this module starts Spark, and what is missing for it is said in one sentence."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.transform.spark.translation import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTRA = "pip install 'debatebench-warehouse[spark]'"

_LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")
# A task that fails is repeated, as on a cluster; without the second number, Spark in one process gives up at once.
_ATTEMPTS = 4
_SETTINGS = {
    "spark.app.name": "debatebench",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # The most that it may take. What looks across families may group many times the rows that it reads.
    "spark.driver.memory": "4g",
    # Most of the time of a small build is planning and small jobs, for which the second compiler costs more than it
    # gives, as code that is generated for each query does. Measured on nine small runs; a large build may differ.
    # Thousands of data tests need more compiled code than the 48 MB that Java reserves with one compiler, and without
    # room Java warns and goes on uncompiled.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m",
    "spark.sql.codegen.wholeStage": "false",
    # The file system with check sums has a process started for the permissions of each of two files.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # More tasks than this only cost time where a table is small; adaptive execution joins the rest.
    "spark.sql.shuffle.partitions": "8",
}
_OF_EVERY_SESSION = {
    **SETTINGS,
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    # Without generated code, Spark 4.3 may read a file before it knows which values of a join it needs, and then fails.
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    # A small table is read by one task, a large one by as many as it has of these pieces. A file counts a little more.
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": "4m",
    "spark.sql.files.openCostInBytes": "256k",
}


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """A session on `master` (`local[2]`, `spark://…`, `sc://…`), or on what the environment names; stopped at the end.

    Raises `UsageError` without pyspark or Java, and `DebatebenchError` for a master that does not answer.
    """
    # It is said of pandas 3 even where Arrow alone is used.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    with _quiet_start():
        session = _started(master)
    try:
        for name, value in _OF_EVERY_SESSION.items():
            session.conf.set(name, value)
        yield session
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("pyspark", "py4j", "grpc"):
            raise DebatebenchError(f"Spark stopped: {reason(error)}") from error
        raise
    finally:
        session.stop()


def _started(master: str | None) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError(f"The engine spark needs pyspark; install it with `{EXTRA}`.") from None
    is_remote = master is not None and master.startswith("sc://")
    builder: Any = SparkSession.builder
    if not is_remote and "SPARK_REMOTE" not in os.environ:
        check_java()
    local = _LOCAL.fullmatch(master or "")
    if local:
        # The workers of this process are those of this Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for name, value in _SETTINGS.items():
            builder = builder.config(name, value)
        master = f"local[{local[1] or '*'},{_ATTEMPTS}]"
    try:
        started: SparkSession = (
            builder.remote(master) if is_remote else builder.master(master) if master else builder
        ).getOrCreate()
        started.range(1).count()
    except Exception as error:
        raise DebatebenchError(f"Spark does not start on {master or 'its default master'}: {reason(error)}") from None
    return started


def check_java() -> None:
    """Raise `UsageError` where there is no Java, which Spark's own message does not say."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise UsageError(
            "Spark needs Java 17 or later, and there is none; install it (on Debian: apt install "
            "openjdk-17-jre-headless), or use a Spark Connect server with --master sc://HOST."
        )


def reason(error: BaseException) -> str:
    """The first sentence of an error of Spark, without Java's stack."""
    text = str(error).strip() or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # What Java says comes after a line that only names the call.
    skipped = ("at ", "Traceback", "File ", "JVM stack", "An error occurred while calling")
    first = next((line for line in lines if not line.startswith(skipped)), lines[0]).removeprefix(": ")
    return re.sub(r"\s*SQLSTATE: \w+", "", first).rstrip(".") + "."


@contextmanager
def _quiet_start() -> Iterator[None]:
    """What Java prints while it starts goes to a file, because it cannot be told to be silent before."""
    if not Path(os.devnull).exists() or sys.stderr is None:
        yield
        return
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
