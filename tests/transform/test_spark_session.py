"""What is said where Spark, Java or an option is missing, and that nothing loads Spark before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from command_line import debatebench

from debatebench.shared.errors import UsageError
from debatebench.transform.spark.session import reason, spark_session
from debatebench.transform.spark.source import local_path


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(
        UsageError, match=r"needs pyspark; install it with `pip install 'debatebench-warehouse\[spark\]'`"
    ):
        spark_session("local[1]").__enter__()


def test_without_java_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    pyspark, sql = ModuleType("pyspark"), ModuleType("pyspark.sql")
    sql.SparkSession = type("SparkSession", (), {"builder": None})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    monkeypatch.setitem(sys.modules, "pyspark.sql", sql)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(
        UsageError, match=r"^Spark needs Java 17 or later, and there is none; install it \(on Debian: apt"
    ):
        spark_session("local[1]").__enter__()


def test_an_error_of_spark_is_its_first_sentence():
    text = "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03\n\nJVM stacktrace:\n\tat org.apache.spark"
    assert reason(Exception(text)) == "[PATH_NOT_FOUND] Path does not exist: file:/x."
    of_java = "An error occurred while calling o1.save.\n: java.lang.OutOfMemoryError: Java heap space\n\tat java"
    assert reason(Exception(of_java)) == "java.lang.OutOfMemoryError: Java heap space."
    assert reason(ValueError()) == "ValueError."


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("file:/tmp/a b/run_tag=x%20y/data.parquet", "/tmp/a b/run_tag=x%20y/data.parquet"),
        ("file:///tmp/x", "/tmp/x"),
        ("/tmp/x", "/tmp/x"),
        ("s3://bucket/x", None),
        ("hdfs://host:9000/x", None),
    ],
)
def test_a_worker_opens_a_file_of_its_machine_by_its_path(address: str, path: str | None):
    assert local_path(address) == (None if path is None else Path(path))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["build", "--engine", "spark"], "--engine spark needs --source and --target."),
        (["build", "--engine", "spark", "--select", "x"], "--engine spark builds all SQL models; leave out --select"),
        (["build", "--target", "x"], "--target needs --engine spark."),
        (["build", "--format", "delta"], "--format needs --engine spark."),
        (["test", "--engine", "spark"], "--engine spark needs --target."),
        (["test", "--engine", "spark", "--unit-only"], "--engine spark runs all data tests and no others"),
        (["test", "--master", "local[1]"], "--master needs --engine spark."),
    ],
)
def test_options_that_do_not_fit_the_engine_are_refused(tmp_path: Path, arguments: list[str], error: str):
    done = debatebench(tmp_path, *arguments)
    assert done.code == 2
    assert error in done.error_line


def test_nothing_loads_spark_before_a_session_is_opened():
    modules = ("transform.spark.engine", "transform.spark.data_tests", "transform.spark.session", "cli.app")
    imports = "; ".join(f"import debatebench.{name}" for name in modules)
    check = "import sys; assert not {'pyspark', 'pyarrow', 'pandas'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", f"{imports}; {check}"], check=True)
