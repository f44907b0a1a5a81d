"""The name of every table and view of the warehouse in a dbt project, and which are not exported as SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from debatebench.shared.records import TABLES
from debatebench.stats.sql import python_functions
from debatebench.transform.macros import Macro
from debatebench.transform.sql_model import SqlModel


@dataclass(frozen=True, slots=True)
class DbtNames:
    """dbt names by the dotted name of a SQL model or raw table."""

    calls: Mapping[str, str]
    """How dbt refers to it: `ref('stg_debates')`, `ref('panel_winners', v=1)`, `source('raw', 'debates')`."""
    seeds: Mapping[str, str]
    """The dbt seed of a CSV file."""
    models: Mapping[str, str]
    """The dbt model, without its version; the view on a latest version has a name of its own."""
    tables: frozenset[str]
    """Ratings and whatever else Python computes, with all versions: dbt gets their rows and not their SQL."""
    macros: Mapping[str, Macro]
    """What is written out, because dbt has no macros of DuckDB."""


def dbt_names(models: Mapping[str, SqlModel], macros: Mapping[str, Macro]) -> DbtNames:
    """Name everything. dbt requires model names that are unique over all schemas, and versions are one model in dbt."""
    tables = _made_by_python(models)
    plain = {name: model for name, model in models.items() if name not in tables and model.alias_of is None}
    families = {(model.schema, model.base_name) for model in plain.values()}
    count = Counter(base for _, base in families)
    taken = {base if count[base] == 1 else f"{schema}_{base}" for schema, base in families}
    calls = {f"raw.{table}": f"source('raw', '{table}')" for table in TABLES}
    seeds: dict[str, str] = {}
    named: dict[str, str] = {}
    for name, model in models.items():
        if name in tables:
            calls[name] = f"source('{model.schema}', '{name.partition('.')[2]}')"
            continue
        own = model.base_name if count[model.base_name] == 1 else f"{model.schema}_{model.base_name}"
        if model.seed is not None:
            calls[name], seeds[name] = f"ref('{own}')", own
            continue
        calls[name] = f"ref('{own}')" if model.version is None else f"ref('{own}', v={model.version})"
        named[name] = own if model.alias_of is None else _free(f"{own}_latest", taken)
    return DbtNames(calls, seeds, named, frozenset(tables), macros)


def _made_by_python(models: Mapping[str, SqlModel]) -> set[str]:
    """The ratings, the SQL models that call a Python function, and all other versions of these."""
    families = {
        (model.schema, model.base_name)
        for model in models.values()
        if model.schema == "ratings" or python_functions(model.query.functions)
    }
    return {name for name, model in models.items() if (model.schema, model.base_name) in families}


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
