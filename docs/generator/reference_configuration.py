"""The reference of the configuration: every key of every file, from the types that the files are read into."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from page_text import code, plain, table
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from debatebench.config.attacks import ATTACK_KINDS, Attack
from debatebench.config.load import PLACES
from debatebench.config.parts import Rubric, Taxonomy
from debatebench.config.types import (
    Config,
    DimensionConfig,
    EloConfig,
    MemberConfig,
    Preferences,
    PriceList,
    Pricing,
    RateLimits,
    Round,
    SideGuidance,
    TopicConfig,
    WeaknessConfig,
    WholeConfig,
)
from debatebench.output.report.choice import Choice

_INTRODUCTION = """\
The files are YAML or JSON, in `configs/` of the workspace; those that a workspace does not have are the packaged ones,
which `debatebench init` writes. A key that is unknown, given twice or of another type is refused with its file and
line. A key that is left out, or null, has the default. [Running](../running.md) explains how the settings work
together."""
_MEMBERS = """\
A list of entries, or a mapping with the list under `{key}` and `limits`: provider → the keys of [limits](#limits), for
all members of a provider together. Each entry:"""


def configuration_page() -> str:
    """The page: a section for each file, and for each mapping that stands in several."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield from ("# Configuration keys", "", _INTRODUCTION, "")
    yield from ("## config.yaml", "")
    yield from (
        "The debate format, the rubric and the settings of ratings. The flat form of the first harness works, too.",
        "",
    )
    of_config = [name for name in Config.model_fields if name in PLACES]
    scale = [(code(PLACES[name][0]), "number", "", text, _others(PLACES[name])) for name, text in _SCALE.items()]
    yield from table(
        _HEAD, [*_rows(Config, of_config, PLACES), *scale, *_rows(EloConfig, EloConfig.model_fields, PLACES)]
    )
    yield from (
        "### A round { #round }",
        "",
        "`speaker` and `token_limit` are other names of `role` and `max_tokens`.",
        "",
    )
    yield from _settings(Round)
    yield from ("### A dimension { #dimension }", "")
    yield from ("A mapping of names to these keys, or a list in which each has its name as `id`.", "")
    yield from ("`name` is another name of `description`.", "")
    yield from _settings(DimensionConfig)
    yield from ("### The whole debate { #whole }", "", *_settings(WholeConfig))
    yield from ("### Preferences { #preferences }", "", *_settings(Preferences))
    yield from ("### By category { #category }", "", "A mapping of categories to these keys.", "")
    yield from _settings(SideGuidance)
    for file, key in (("models.yaml", "models"), ("judges.yaml", "judges")):
        yield from (f"## {file}", "", _MEMBERS.format(key=key), "")
        yield from _settings(MemberConfig, _member_keys(is_judge=key == "judges"))
        yield from ("Also `role` (`debater` or `judge`), which is only checked, and the keys of [limits](#limits).", "")
    yield from ("### Prices { #pricing }", "", *_settings(PriceList), *_settings(Pricing, ["tiers"]))
    yield from ("### Limits { #limits }", "", *_settings(RateLimits))
    yield from ("## topics.json", "", "A list of topics, or a mapping with the list under `topics`. Each topic:", "")
    yield from _settings(TopicConfig)
    yield from ("## quick-test-models.yaml", "", "What `run --quick-test` plays, if the file is there.", "")
    yield from _listed(
        {
            "debaters": "Debaters, with the keys of models.yaml; `models` is another name.",
            "judges": "Judges, with the keys of judges.yaml.",
            "num_judges": "Judges on a panel.",
        }
    )
    yield from (
        "## formats/NAME.yaml",
        "",
        "`rounds`: a list of [rounds](#round), in place of those of config.yaml.",
        "",
    )
    yield from ("## rubrics/NAME.yaml", "", (inspect.getdoc(Rubric) or "").partition("\n")[0], "")
    yield from _listed(
        {
            "version": "The version of the rubric; without it, the name of the file.",
            "scale": "`min`, `max` and `step` of all dimensions that state no scale.",
            "dimensions": "[Dimensions](#dimension).",
            "whole": "[The whole debate](#whole).",
            "judge_method": "The method by which judges are asked where no option says it.",
        }
    )
    yield from ("## weaknesses.yaml", "", (inspect.getdoc(Taxonomy) or "").partition("\n")[0], "")
    yield from _listed(
        {
            "taxonomy": "The name under which a run records what the ids mean; without it, the name of the file.",
            "weaknesses": "A list of entries with the keys below.",
        }
    )
    yield from _settings(WeaknessConfig)
    yield from ("## attacks.yaml", "", "`attacks`: a list of attacks for `debatebench probe-judges`.", "")
    yield from _settings(Attack, [name for name in Attack.model_fields if name != "text"])
    yield from _listed({"template": "The file with the text, below the configuration folder or beside this file."})
    yield from ("Kinds: " + ", ".join(f"`{kind}`" for kind in ATTACK_KINDS) + ".", "")
    yield from ("## reports/site.yml", "", (inspect.getdoc(Choice) or "").partition("\n")[0], "")
    yield from _listed(
        {
            "title": "What the site is called.",
            "runs": "The runs that have pages; without it, all that are not excluded.",
            "front": "The run on the front page.",
            "compare": "Pairs of runs or benchmark versions, the baseline first.",
        }
    )


_HEAD = ("key", "value", "default", "", "also")
_SCALE = {
    "scale_min": "The lowest score of dimensions that state none.",
    "scale_max": "The highest score of dimensions that state none.",
    "scale_step": "The difference between neighbouring scores on that scale.",
}
_SECTIONS = {
    Round: "round",
    DimensionConfig: "dimension",
    WholeConfig: "whole",
    Preferences: "preferences",
    SideGuidance: "category",
    Pricing: "pricing",
    PriceList: "pricing",
    RateLimits: "limits",
}


def _member_keys(*, is_judge: bool) -> list[str]:
    left_out = {"limits", "provider_limits", "earlier_parameters"}
    return [
        name
        for name in MemberConfig.model_fields
        if name not in left_out
        and (is_judge or not attribute_texts(MemberConfig).get(name, "").startswith("For judges"))
    ]


def _settings(kind: Any, names: Iterable[str] | None = None) -> list[str]:
    """A table of fields of a type: of all, or of those that are named."""
    head = _HEAD[:-1]
    return table(head, [row[: len(head)] for row in _rows(kind, kind.model_fields if names is None else names, {})])


def _rows(
    kind: Any, names: Iterable[str], places: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str, str, str, str]]:
    """A row for each field. `places` says where a field may stand, the usual place first; else its name does."""
    texts = attribute_texts(kind)
    for name in names:
        stated = kind.model_fields[name]
        paths = places.get(name, (name,))
        inner = next((_SECTIONS[each] for each in _inner_types(stated.annotation) if each in _SECTIONS), None)
        words = _words(stated.annotation)
        yield (
            code(paths[0]),
            f"[{words}](#{inner})" if inner else words,
            _default(stated),
            f"{plain(texts.get(name, ''))} {_bounds(stated)}".strip(),
            _others(paths),
        )


def _others(paths: tuple[str, ...]) -> str:
    return ", ".join(code(path) for path in paths[1:])


def _listed(keys: Mapping[str, str]) -> list[str]:
    return table(("key", ""), [(code(key), text) for key, text in keys.items()])


def attribute_texts(kind: type) -> dict[str, str]:
    """Field → the string that stands below it in the source of its class."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    body: list[ast.stmt] = getattr(definition, "body", [])
    found: dict[str, str] = {}
    for before, after in pairwise(body):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and is_text:
            found[before.target.id] = " ".join(str(after.value.value).split())
    return found


def _inner_types(hint: Any) -> Iterator[Any]:
    yield hint
    for each in typing.get_args(hint):
        yield from _inner_types(each)


_WORDS = {str: "text", int: "whole number", bool: "true or false", float: "number", dict: "mapping", tuple: "list"}


def _words(hint: Any) -> str:
    """A type in words."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _words(inner[0])
    if origin is typing.Literal:
        return ", ".join(f"`{each}`" for each in inner)
    if origin in (typing.Union, types.UnionType):
        return ", ".join(_words(each) for each in inner if each is not type(None))
    if inspect.isclass(hint) and hasattr(hint, "model_fields"):
        return "mapping"
    return _WORDS.get(origin or hint, "number")


def _default(stated: Any) -> str:
    value = stated.default
    if stated.is_required():
        return "required"
    if value is PydanticUndefined or value in (None, "", (), {}) or isinstance(value, BaseModel):
        return ""
    return code(str(value).lower() if isinstance(value, bool) else str(value))


def _bounds(stated: Any) -> str:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    found = [f"{words[key]} {getattr(each, key):,}" for each in stated.metadata for key in words if hasattr(each, key)]
    return f"({', '.join(found)})" if found else ""
