"""The YAML of the SQL models → the YAML of a dbt project: the same descriptions, columns, versions and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from debatebench.output.export.dbt_names import DbtNames
from debatebench.output.export.dbt_sql import without_jinja
from debatebench.output.export.dbt_tests import FixtureRow, data_tests, unit_test
from debatebench.shared.activity import each_of
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.project import Project
from debatebench.transform.properties import ColumnProperties, ModelProperties, ModelVersion
from debatebench.transform.seeds import SEEDS
from debatebench.transform.sql_model import SqlModel


def properties_files(project: Project, names: DbtNames) -> dict[str, str]:
    """Path → text, a file in `models/` or `seeds/` for each YAML file with SQL models or seeds that dbt builds."""
    from debatebench.transform.broken import Broken
    from debatebench.transform.lineage.descriptions import descriptions_of
    from debatebench.transform.load import read_yaml_files, relation_name

    descriptions = descriptions_of(project)
    texts: dict[str, str] = {}
    files = read_yaml_files(project.files, Broken(skip=False))
    for path, read in each_of("Writing dbt properties", files.items()):
        models, seeds = [], []
        for described in read.models:
            name = relation_name(described.entry, path)
            if name in names.seeds:
                seeds.append(_seed(project.models[name], descriptions, names))
            else:
                models += _models(name, described.entry, project.models, descriptions, names)
        tests = [
            unit_test(located, project.models, names)
            for located in project.unit_tests
            if located.file == read.file and located.tested not in names.tables
        ]
        if models or tests:
            content = {"version": 2} | ({"models": models} if models else {}) | ({"unit_tests": tests} if tests else {})
            texts[f"models/{path}"] = yaml_text(content)
        if seeds:
            texts[f"seeds/{str(path).removeprefix(f'{SEEDS}/')}"] = yaml_text({"version": 2, "seeds": seeds})
    return texts


def _models(
    name: str,
    properties: ModelProperties,
    models: Mapping[str, SqlModel],
    descriptions: Descriptions,
    names: DbtNames,
) -> list[dict[str, Any]]:
    """The dbt entries of `models` for one of ours; a versioned model also gets the view on its latest version."""
    if name in names.tables:
        return []
    own, table = _described(models[name], descriptions), name.partition(".")[2]
    if not properties.versions:
        return [_model(names.models[name], table, own, names)]
    of_versions = {v.v: _described(models[f"{name}_v{v.v}"], descriptions) for v in properties.versions}
    properties = _family(properties, own, of_versions)
    model = names.models[str(models[name].alias_of)]
    entry = {
        "name": model,
        "description": without_jinja(properties.description),
        "latest_version": properties.latest,
        **_settings(properties),
        **_deprecation(properties),
        **_contents(properties, names),
        "versions": [_version(version, table if table != model else None, names) for version in properties.versions],
    }
    return [entry, _model(names.models[name], table, own, names)]


def _seed(model: SqlModel, descriptions: Descriptions, names: DbtNames) -> dict[str, Any]:
    """The dbt entry of `seeds` for a CSV file; dbt guesses the types that it is not given."""
    own, table = _described(model, descriptions), model.base_name
    entry = _model(names.seeds[model.name], table, own, names)
    settings = {key: value for key, value in entry.get("config", {}).items() if key not in ("materialized", "contract")}
    return entry | {"config": settings | {"column_types": {each.name: each.data_type for each in own.columns}}}


def _family(
    properties: ModelProperties, latest: ModelProperties, own: Mapping[int, ModelProperties]
) -> ModelProperties:
    """A versioned SQL model with the full text of every column; a version whose texts differ lists all its columns."""
    from debatebench.transform.properties import InheritedColumns

    common = {column.name.lower(): column for each in own.values() for column in each.columns}
    properties = properties.with_common(common)
    texts = {column.name: column.description for column in latest.columns}
    columns = [c.model_copy(update={"description": texts.get(c.name) or c.description}) for c in properties.columns]
    shared = properties.model_copy(update={"columns": tuple(columns)})
    # In dbt, a version that does not say so has the columns of the whole model, too.
    none = InheritedColumns(include=())
    versions = [
        v
        if shared.of_version(v.v).columns == own[v.v].columns
        else v.model_copy(update={"columns": (none, *own[v.v].columns)})
        for v in properties.versions
    ]
    return shared.model_copy(update={"versions": tuple(versions)})


def _described(model: SqlModel, descriptions: Descriptions) -> ModelProperties:
    """The YAML of a SQL model with the full text of every column."""
    columns = [
        column.model_copy(update={"description": descriptions.text(model.name, column.name)})
        for column in model.properties.columns
    ]
    return model.properties.model_copy(update={"columns": tuple(columns)})


def _model(model: str, table: str, properties: ModelProperties, names: DbtNames) -> dict[str, Any]:
    settings = _settings(properties, alias=table if table != model else None)
    return {
        "name": model,
        "description": without_jinja(properties.description),
        **settings,
        **_deprecation(properties),
        **_contents(properties, names),
    }


def _settings(properties: ModelProperties, *, alias: str | None = None) -> dict[str, Any]:
    """The key `config`, if it is not empty; views are the project's default. Questions are part of `meta`."""
    config, settings = properties.config, dict[str, Any]()
    if alias is not None:
        settings["alias"] = alias
    if config.materialized != "view":
        settings["materialized"] = config.materialized
    if config.contract.enforced:
        settings["contract"] = {"enforced": True}
    if config.tags:
        settings["tags"] = list(config.tags)
    if meta := {**_questions(properties), **properties.meta, **config.meta}:
        settings["meta"] = meta
    return {"config": settings} if settings else {}


def _questions(properties: ModelProperties) -> dict[str, Any]:
    """What dbt has no keys for."""
    found: dict[str, Any] = {"start_here": True} if properties.start_here else {}
    if properties.questions:
        found["questions"] = [
            {"question": without_jinja(each.question), "sql": without_jinja(each.sql)} for each in properties.questions
        ]
    return found


def _deprecation(properties: ModelProperties | ModelVersion) -> dict[str, Any]:
    return {"deprecation_date": properties.deprecation_date} if properties.deprecation_date else {}


def _version(version: ModelVersion, table: str | None, names: DbtNames) -> dict[str, Any]:
    """One entry of `versions`; `table` is the plain name if dbt's differs. In dbt, prereleases are only numbers."""
    from debatebench.transform.properties import ColumnProperties

    entry: dict[str, Any] = {"v": version.v}
    if version.description:
        entry["description"] = without_jinja(version.description)
    # dbt rebuilds every table, and never cuts a build.
    config = {name: value for name, value in version.config.items() if name not in ("incremental_by", "scope")}
    if table is not None:
        config["alias"] = f"{table}_v{version.v}"
    if version.prerelease:
        config["meta"] = {**config.get("meta", {}), "prerelease": True}
    entry |= ({"config": config} if config else {}) | _deprecation(version)
    if version.data_tests is not None:
        entry["data_tests"] = data_tests(version.data_tests, None, names)
    if version.columns:
        entry["columns"] = [
            _column(column, names)
            if isinstance(column, ColumnProperties)
            else column.model_dump(mode="json", exclude_unset=True)
            for column in version.columns
        ]
    return entry


def _contents(properties: ModelProperties, names: DbtNames) -> dict[str, Any]:
    """The tests and columns of an entry."""
    entry: dict[str, Any] = {}
    if properties.data_tests:
        entry["data_tests"] = data_tests(properties.data_tests, None, names)
    if properties.columns:
        entry["columns"] = [_column(column, names) for column in properties.columns]
    return entry


def _column(column: ColumnProperties, names: DbtNames) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": column.name}
    if column.description:
        entry["description"] = without_jinja(column.description)
    if column.data_type:
        entry["data_type"] = column.data_type
    if column.meta:
        entry["config"] = {"meta": dict(column.meta)}
    if column.data_tests:
        entry["data_tests"] = data_tests(column.data_tests, column.name, names)
    return entry


def sources_file(project: Project, names: DbtNames) -> str:
    """The text of `sources.yml`: the landed tables, and the tables of SQL models that call a Python function."""
    from debatebench.transform.lineage.descriptions import descriptions_of

    descriptions = descriptions_of(project)
    raw = {
        "name": "raw",
        "description": "Landed data: one table for each kind of record, keyed by run_tag.",
        "tables": [_raw_table(name, descriptions) for name in TABLES],
    }
    made: dict[str, list[dict[str, Any]]] = {}
    for name in sorted(names.tables):
        model = project.models[name]
        described = {"name": name.partition(".")[2], "description": without_jinja(model.properties.description)}
        made.setdefault(model.schema, []).append(described | _contents(_described(model, descriptions), names))
    sources = [
        {"name": schema, "description": "Computed by debatebench in Python; exported as rows.", "tables": tables}
        for schema, tables in made.items()
    ]
    return yaml_text({"version": 2, "sources": [raw, *sources]})


def _raw_table(name: str, descriptions: Descriptions) -> dict[str, Any]:
    record = TABLES[name]
    columns = []
    for column, sql_type in column_types(record).items():
        described = descriptions.text(f"raw.{name}", column)
        description = {"description": without_jinja(described)} if described else {}
        columns.append({"name": column} | description | {"data_type": sql_type.lower()})
    promise = without_jinja(" ".join((record.__doc__ or "").split()))
    return {"name": name, "description": promise, "columns": columns}


def yaml_text(content: Mapping[str, Any]) -> str:
    """YAML with keys in their order, and rows of unit tests on one line each."""

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

    Dumper.add_representer(
        FixtureRow, lambda dumper, row: dumper.represent_mapping("tag:yaml.org,2002:map", row.items(), flow_style=True)
    )
    return yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
