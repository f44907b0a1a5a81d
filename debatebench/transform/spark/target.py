"""The tables of a target: `SCHEMA/NAME/PART_COLUMN=PART/…`, written by Spark alone.

Spark's own protocol decides which attempt of a task counts, so that a task that is repeated leaves no rows twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from debatebench.transform.spark.family_build import PACKED, unpacked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# These store a table in files of each part, which can be replaced one by one.
FILES = ("parquet", "orc")
REPLACES_PARTS = (*FILES, "delta")
"""The formats in which the rows of some parts can be replaced; a table in another is always written whole."""


@dataclass(frozen=True, slots=True)
class Target:
    """The tables below `url`, in a format that the session can write; `part` is the column that cuts them."""

    spark: SparkSession
    url: str
    format: str
    part: str

    def place(self, name: str) -> str:
        """The address of the table of a SQL model."""
        return f"{self.url.rstrip('/')}/{name.replace('.', '/', 1)}"

    def read(self, name: str, schema: StructType) -> DataFrame:
        """The table of a SQL model, its columns in order."""
        reader = self.spark.read.format(self.format)
        if self.format in FILES:
            # Spark would make numbers of parts that look like some.
            reader = reader.schema(schema)
        return reader.load(self.place(name)).select(*schema.names)

    def write(self, name: str, rows: DataFrame, *, is_cut: bool = False) -> None:
        """Replace a whole table, cut by part or not. One without rows must not be cut: Spark would write no file."""
        writer = rows.write.format(self.format).mode("overwrite")
        writer = writer.option("partitionOverwriteMode", "static").option("overwriteSchema", "true")
        (writer.partitionBy(self.part) if is_cut else writer).save(self.place(name))

    def replace(self, name: str, rows: DataFrame, parts: Collection[str], gone: Collection[str]) -> None:
        """Replace the rows of `parts` in a table that is cut; `gone` are those of them that will have none."""
        writer = rows.write.format(self.format).mode("overwrite").partitionBy(self.part)
        if self.format == "delta":
            listed = ", ".join("'" + each.replace("'", "''") + "'" for each in parts)
            writer.option("replaceWhere", f"{self.part} in ({listed})").save(self.place(name))
            return
        writer.save(self.place(name))
        for each in gone:
            empty = rows.drop(self.part).limit(0).write.format(self.format).mode("overwrite")
            empty.option("partitionOverwriteMode", "static").save(f"{self.place(name)}/{self.part}={each}")

    def counted_rows(self, counts: Mapping[str, int]) -> DataFrame:
        """Rows that only name their part, out of the number for each part."""
        rows = self.spark.createDataFrame(list(counts.items()), "part string, row_count int")
        return rows.selectExpr(f"explode(array_repeat(part, row_count)) as {self.part}")

    def no_rows(self, schema: StructType) -> DataFrame:
        """No row of these columns; unlike Spark's own way, without a process of Python."""
        from pyspark.sql import functions as sf

        return self.spark.range(0).select(*(sf.lit(None).cast(each.dataType).alias(each.name) for each in schema))

    # --- rows on their way from a family's task to their tables ---

    def stage(self, packed: DataFrame) -> None:
        """Keep what the tasks of families return, apart by SQL model."""
        packed.write.mode("overwrite").option("partitionOverwriteMode", "static").partitionBy("model").parquet(
            self._staged
        )

    def staged(self, name: str) -> DataFrame:
        """What is staged of one SQL model."""
        schema = ", ".join(column for column in PACKED.split(", ") if not column.startswith("model "))
        return self.spark.read.schema(schema).parquet(f"{self._staged}/model={name}")

    def staged_rows(self, name: str, schema: StructType) -> DataFrame:
        """The staged rows of one SQL model."""
        return self.staged(name).select("packed").mapInArrow(unpacked, schema)

    def clear_stage(self) -> None:
        """Delete what is staged, all but an empty file."""
        from pyspark.sql.types import StructType

        writer = self.no_rows(StructType.fromDDL(PACKED)).write.mode("overwrite")
        writer.option("partitionOverwriteMode", "static").parquet(self._staged)

    @property
    def _staged(self) -> str:
        return f"{self.url.rstrip('/')}/meta/staged"
