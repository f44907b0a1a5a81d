"""The marts as one page of Markdown: by subject, which question each answers, with its SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from debatebench.output.docs.content import spans
from debatebench.query.finding import first_sentence
from debatebench.shared.errors import UsageError
from debatebench.shared.files import not_written, write_atomically
from debatebench.transform.catalogue import keys_of, subject_of
from debatebench.transform.project import Project
from debatebench.transform.short_names import short_names
from debatebench.transform.sql_model import SqlModel

_NAME = "marts.md"
_MARK = "<!-- Written by `debatebench docs --format markdown`. -->"
_INTRODUCTION = """\
Each table below answers questions about runs, in few lines of SQL: `debatebench query "…"`, the prompt of
`debatebench sql`, [Python](python-api.md) or any DuckDB client. The schema may be left out: `from leaderboard` is
`from marts.leaderboard`. All runs are in one table, so a query about one of them has a `where run_tag = 'demo'`.
`debatebench query ".find verbosity"` finds tables by words, and `debatebench query ".describe leaderboard"` shows the
columns of one. All numbers are about judges' preferences, not about truth; where a number is null because something is
absent, the column `reason` says what."""
_ORIGINAL = """\
The schema `original` has the tables of the first harness, which `debatebench summarize` writes as CSV files. Their
columns have the names of those files, and their numbers are computed as there: they are for comparison, and the tables
above say more."""


def write_marts_page(project: Project, out_dir: Path) -> Path:
    """Write `marts.md` into `out_dir` and return its path.

    Raises `UsageError` when `out_dir` contains another file of that name, `DebatebenchError` when it cannot be written
    to, and `SqlModelError` for a project that cannot be read.
    """
    path, text = out_dir / _NAME, render_marts_page(project)
    try:
        if path.exists() and _MARK not in path.read_text(encoding="utf-8", errors="replace"):
            raise UsageError(f"{path} is not a page of `debatebench docs`; move it, or choose another --out-dir.")
        write_atomically(path, text)
    except OSError as error:
        raise not_written(path, error) from error
    return path


def render_marts_page(project: Project) -> str:
    """The page: what to start with, then every subject, then the tables of the original harness."""
    asked = [project.models[name] for name in short_names(project).values()]
    by_subject: dict[str, list[SqlModel]] = {}
    for model in sorted(asked, key=lambda each: (subject_of(each), not each.properties.start_here, each.name)):
        by_subject.setdefault(subject_of(model), []).append(model)
    lines = [
        "# Marts",
        "",
        _MARK,
        "",
        _INTRODUCTION,
        "",
        "## Start here",
        "",
        "| subject | question | table |",
        "|---|---|---|",
    ]
    for subject, models in by_subject.items():
        lines += [_start(subject, model) for model in models if model.properties.start_here]
    for subject, models in by_subject.items():
        lines += ["", f"## {subject.capitalize()}", "", *_subject(project, models)]
    original = [m for m in project.models.values() if m.schema == "original" and m.version is None]
    if original:
        lines += ["", "## The original harness", "", _ORIGINAL, "", "| table | |", "|---|---|"]
        lines += [f"| `{model.name}` | {_text(first_sentence(model.properties.description))} |" for model in original]
    return "\n".join(lines) + "\n"


def _start(subject: str, model: SqlModel) -> str:
    first = next((question.question for question in model.properties.questions), "")
    return f"| [{subject}](#{subject}) | {_text(first)} | [`{model.name}`](#{model.name.replace('.', '')}) |"


def _subject(project: Project, models: Sequence[SqlModel]) -> Iterator[str]:
    """The tables with questions, each with its SQL, and then the others in a list."""
    silent = [model for model in models if not model.properties.questions]
    for model in models:
        if model not in silent:
            yield from _table(project, model)
    if silent:
        yield from ("Also here:", "")
        for model in silent:
            yield f"- `{model.name}`: {_text(first_sentence(model.properties.description))}"


def _table(project: Project, model: SqlModel) -> Iterator[str]:
    yield from (f"### `{model.name}`", "")
    start = "*Start here.* " if model.properties.start_here else ""
    grain = (project.models[model.alias_of] if model.alias_of else model).grain
    keys = " or ".join(f"`{key}`" for key in keys_of(project, model.name))
    text = _text(first_sentence(model.properties.description))
    yield f"{start}{text} {grain} {f'Key: {keys}.' if keys else ''}".rstrip()
    yield ""
    for question in model.properties.questions:
        yield from (f"**{_text(question.question)}**", "", "```sql", question.sql.strip(), "```", "")


def _text(text: str) -> str:
    """A text of YAML on one line, safe in a cell: its backticks are Markdown's already."""
    parts = (f"`{part}`" if is_code else part.replace("|", "\\|").replace("<", "&lt;") for part, is_code in spans(text))
    return "".join(parts)
