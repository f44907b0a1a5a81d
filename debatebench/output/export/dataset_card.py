"""The card of a published dataset: front matter for the Hub, then what it holds, where it comes from and its limits.

Every number in it is read from the SQL models of the chosen runs. Names and texts from outside are shown as they are
and cannot form Markdown or front matter of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import yaml

from debatebench.shared.markdown import markdown_text
from debatebench.shared.result_formats import render
from debatebench.shared.version import __version__
from debatebench.transform.lineage.descriptions import Descriptions

if TYPE_CHECKING:
    from debatebench.output.export.dataset_tables import DatasetTable
    from debatebench.output.export.snapshot import Snapshot

_SPLIT = "train"
_NOTHING = "–"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_TAGS = ["debate", "llm-as-a-judge", "preference", "argumentation", "debatebench"]

_PREFERENCE = """\
It measures preference. A verdict says which side a judge or a person preferred in a debate; it does not say that the
side is right, that its claims are true, or that the debater is able in any other way. Judges may prefer a side, an
order of speaking, long speeches or models of their own family, and debaters may state things that are false. Do not use
speeches as a source of facts, or verdicts as labels of truth."""

_ANONYMISED = """\
The names of annotators and adjudicators are replaced by pseudonyms, which follow from a secret of the publisher and
cannot be tried out on a list of names; the same person has the same one everywhere in this dataset. Names and the words
of names are also replaced in justifications, in any case and with or without accents, except where a short one may be
another word; metadata of annotations are left out. Texts may still show who wrote them: by other names, by what they
tell, or by their style; and so may the times of annotations. The names of
debaters stay, also of people who debated."""

_RUNS = """
select
    run_tag as run, runs.source, format, source_run_tag as judges, benchmark_name as benchmark,
    benchmark_version as version, rubric_version as rubric, harness_version as harness,
    left(git_commit, 12) as "commit", seed, created_at as made, is_simulated as simulated,
    left(landings.content_sha256, 16) as content
from staging.stg_runs as runs
left join warehouse.meta.landings as landings using (run_tag)
where list_contains($tags, runs.run_tag)
order by run_tag
"""
_SIMULATED = """
select run_tag from staging.stg_runs where list_contains($tags, run_tag) and is_simulated order by run_tag
"""
_DEBATERS = """
select run_tag as run, model_id as debater, provider, model_name as model, is_simulated as simulated, parameters
from staging.stg_debaters
where list_contains($tags, run_tag) and model_name is not null
order by run_tag, model_id
"""
_JUDGES = """
select
    run_tag as run, judge_id as judge, provider, model_name as model, method, prompt_style as prompt,
    is_baseline as baseline, is_simulated as simulated, parameters
from staging.stg_judges
where list_contains($tags, run_tag)
order by run_tag, judge_id
"""
_DIMENSIONS = """
select
    run_tag as run, dimension, min_score as lowest, max_score as highest, description
from staging.stg_dimensions
where list_contains($tags, run_tag)
order by run_tag, source_position, dimension
"""
_SETTINGS = """
select run_tag as run, item as setting, string_agg(concat_ws(': ', part, value), '; ' order by part) as "value"
from marts.run_settings
where
    list_contains($tags, run_tag)
    and value is not null
    and item in (
        'rounds', 'languages', 'debater_prompts', 'judge_prompts', 'judge_methods', 'panel_rule', 'refusal_rule',
        'schedule_rule', 'turn_token_caps'
    )
group by run_tag, item
order by run_tag, item
"""
_COUNTS = """
select
    runs.run_tag as run, runs.count_debates as debates, runs.count_complete as complete, runs.count_decided as decided,
    runs.count_verdicts as verdicts, runs.count_invalid_verdicts as invalid,
    runs.count_annotations as annotations,
    count(case when not coherence.is_coherent then 1 end) as "marked incoherent"
from marts.runs
left join marts.debate_coherence as coherence on runs.run_tag = coherence.run_tag
where list_contains($tags, runs.run_tag)
group by all
order by run
"""
_WINNERS = """
select
    run_tag as run, count(*) as decided,
    count(case when winner = 'pro' then 1 end) / count(*) as pro,
    count(case when winner = 'tie' then 1 end) / count(*) as tie,
    count(case when winner = 'con' then 1 end) / count(*) as con
from marts.decided_debates
where list_contains($tags, run_tag) and not is_forfeit
group by run_tag
order by run_tag
"""
_WEAKNESSES = """
select
    run_tag as run, weakness_type as weakness, count(*) as sides,
    count(case when side = 'pro' then 1 end) as pro,
    count(case when side = 'con' then 1 end) as con
from marts.weaknesses
where list_contains($tags, run_tag)
group by run_tag, weakness_type
union all
select run_tag, '(none: a control)', count(*), null, null
from marts.debates
where list_contains($tags, run_tag) and is_control
group by run_tag
order by run, weakness
"""
_JUDGE_AGREEMENT = """
select run_tag as run, unit, level, value as alpha, ci_low, ci_high, count_debates as debates
from marts.reliability
where list_contains($tags, run_tag) and statistic = 'krippendorff_alpha'
order by run_tag, unit, level
"""
_PEOPLE_AGREEMENT = """
select
    run_tag as run, unit, count_debates as debates, count_annotators as annotators, agreement_rate as agreement,
    kappa, alpha, alpha_ci_low as ci_low, alpha_ci_high as ci_high
from marts.people_agreement
where list_contains($tags, run_tag)
order by run_tag, unit
"""
_LANGUAGES = """
select distinct regexp_extract(lower(language), '^[a-z]{2}($|[-_])') as code
from staging.stg_runs
where list_contains($tags, run_tag) and language is not null
order by code
"""


def dataset_card(snapshot: Snapshot, license_id: str, rows: Mapping[DatasetTable, int]) -> str:
    """The text of README.md. `rows` are the tables that have rows, with their numbers, in the order of the card."""
    return (
        f"---\n{_front_matter(snapshot, license_id, rows)}---\n\n"
        + "\n\n".join(_sections(snapshot, license_id, rows))
        + "\n"
    )


def _front_matter(snapshot: Snapshot, license_id: str, rows: Mapping[DatasetTable, int]) -> str:
    """YAML that the Hub and `datasets` read: the files of every table, as the only split of a configuration."""
    codes = [code.rstrip("-_") for (code,) in _fetched(snapshot, _LANGUAGES) if code]
    names = [table.name for table in rows]
    count = sum(count for table, count in rows.items() if table.name in ("debates", "attacked_debates"))
    front: dict[str, Any] = {
        "pretty_name": f"Debates of {', '.join(snapshot.run_tags)}",
        "license": license_id,
        **({"language": sorted(set(codes))} if codes else {}),
        "size_categories": [next((name for most, name in _SIZES if count < most), "n>1M")],
        "tags": _TAGS,
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == names[0] else {}),
                "data_files": [{"split": _SPLIT, "path": f"data/{name}/*.parquet"}],
            }
            for name in names
        ],
    }
    return yaml.safe_dump(front, sort_keys=False, allow_unicode=False, width=1_000)


def _sections(snapshot: Snapshot, license_id: str, rows: Mapping[DatasetTable, int]) -> Iterator[str]:
    tags = snapshot.run_tags
    yield f"# Debates of {markdown_text(', '.join(tags))}"
    yield (
        "Debates between language models, or imported ones: the speeches, what every judge and every person who read "
        f"them said, and where all of it comes from. Published from {'the run' if len(tags) == 1 else 'the runs'} "
        f"{markdown_text(', '.join(tags))} by debatebench {markdown_text(__version__)}."
    )
    if simulated := [tag for (tag,) in _fetched(snapshot, _SIMULATED)]:
        yield (
            f"> Of {markdown_text(', '.join(simulated))}, debaters or judges are simulated: rules wrote their texts "
            "and scores, which show how the tools work and say nothing about language models."
        )
    yield f"## What it measures\n\n{_PREFERENCE}"
    yield _load_section(rows)
    yield from _table_sections(snapshot, rows)
    yield _provenance(snapshot)
    yield _configuration(snapshot)
    yield _statistics(snapshot)
    yield _people(snapshot, {table.name for table in rows})
    yield (
        f"## Licence and checksums\n\nThe publisher states the licence: `{license_id}`. debatebench does not know who "
        "holds rights in the texts.\n\n`checksums.sha256` has the SHA-256 of every file (`sha256sum --check "
        "checksums.sha256`), and `manifest.json` the rows of every file and what was left out."
    )


def _load_section(rows: Mapping[DatasetTable, int]) -> str:
    first = next(iter(rows)).name
    listed = render(
        ["table", "rows", "one row"], [[table.name, rows[table], table.about] for table in rows], "markdown"
    )
    return (
        f"## Tables\n\n{listed}\n"
        "Each table is a configuration with one split; the name of the split is a convention and means nothing:\n\n"
        f'```python\nfrom datasets import load_dataset\n\n{first} = load_dataset(".", "{first}")["{_SPLIT}"]\n```\n\n'
        "`run_tag` and `debate_id` together name a debate in every table. Times are UTC, money is US dollars, and JSON "
        "is text."
    )


def _table_sections(snapshot: Snapshot, rows: Mapping[DatasetTable, int]) -> Iterator[str]:
    """The columns of every table, with the texts of the SQL models that they come from."""
    descriptions = Descriptions(snapshot.project)
    for table in rows:
        columns = [[name, descriptions.text(relation, name)] for name, relation in table.sources()]
        yield f"### {table.name}\n\n{_with_code(render(['column', 'meaning'], columns, 'markdown')).rstrip()}"


def _with_code(table: str) -> str:
    """The backticks of a table whose texts are our own are Markdown."""
    return table.replace("&#96;", "`")


def _provenance(snapshot: Snapshot) -> str:
    import duckdb

    models = snapshot.con.execute("select count(*) from warehouse.meta.builds").fetchall()[0][0]
    return "\n\n".join(
        (
            "## Provenance",
            _table(snapshot, _RUNS),
            "`content` begins the SHA-256 of what was landed for the run: its journal, or the manifest of its imports. "
            f"The numbers were derived by {models} SQL models in DuckDB {duckdb.__version__}; `manifest.json` has the "
            "whole hashes, also of the text of every SQL model.",
            "### Debaters\n\n" + _table(snapshot, _DEBATERS),
            "### Judges\n\n" + _table(snapshot, _JUDGES),
        )
    )


def _configuration(snapshot: Snapshot) -> str:
    return "\n\n".join(
        (
            "## Configuration",
            "The table `settings` has every setting, and `runs` the whole configuration as JSON.",
            _table(snapshot, _SETTINGS),
            "### Dimensions\n\n" + _table(snapshot, _DIMENSIONS),
        )
    )


def _statistics(snapshot: Snapshot) -> str:
    parts = ["## Statistics", _table(snapshot, _COUNTS)]
    for title, query in (
        ("Winners, as shares of the decided debates", _WINNERS),
        ("Injected weaknesses, by side", _WEAKNESSES),
        ("Agreement between judges (Krippendorff's alpha)", _JUDGE_AGREEMENT),
        ("Agreement between annotators", _PEOPLE_AGREEMENT),
    ):
        table = _table(snapshot, query)
        if table != _NOTHING:
            parts.append(f"### {title}\n\n{table}")
    parts.append("Intervals have a level of 95 %. A debate that is marked incoherent is in all numbers and tables.")
    return "\n\n".join(parts)


def _people(snapshot: Snapshot, names: set[str]) -> str:
    if not names & {"annotations", "adjudications"}:
        return "## People\n\nNo person annotated these debates, or their annotations are not part of the dataset."
    if not snapshot.dataset.anonymize:
        return "## People\n\nAnnotators appear under the names that they gave."
    return f"## People\n\n{_ANONYMISED}"


def _fetched(snapshot: Snapshot, query: str) -> list[tuple[Any, ...]]:
    return snapshot.con.execute(query, {"tags": list(snapshot.run_tags)}).fetchall()


def _table(snapshot: Snapshot, query: str) -> str:
    """The rows of a query as a Markdown table, without the columns that have no value; a dash where there are none."""
    rows = _fetched(snapshot, query)
    names = [column[0] for column in snapshot.con.description or ()]
    kept = [place for place in range(len(names)) if any(row[place] is not None for row in rows)]
    if not rows or not kept:
        return _NOTHING
    return render(
        [names[place] for place in kept], [[row[place] for place in kept] for row in rows], "markdown"
    ).rstrip()
