"""Write what the documents show of the program: the leaderboard of the demo in README.md, and its picture.

`python docs/build.py` plays the demo in a temporary workspace and writes the files again; a test compares them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import debatebench

REPOSITORY = Path(__file__).resolve().parent.parent
DEMO = ("run", "--run-tag", "demo", "--sample-topics", "4")
"""The run that `make demo` plays. All of it is simulated and seeded, so it ends the same everywhere."""

_OUTPUT = re.compile(r"(<!-- output: debatebench ([^\n]*) -->\n```text\n).*?(```\n)", re.DOTALL)
_ROW, _LEFT, _WIDTH, _PLOT = 30, 120, 720, 480
_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #24292f } .muted { fill: #6e7781 }
line { stroke: #57606a } .zero { stroke: #d0d7de } circle { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .muted { fill: #8b949e }
  line { stroke: #8b949e } .zero { stroke: #30363d } circle { fill: #58a6ff }
}"""


def with_outputs(text: str, workspace: Path) -> str:
    """A page with the output of every command that a comment `<!-- output: debatebench … -->` names."""
    return _OUTPUT.sub(lambda found: found[1] + _output(found[2].split(), workspace) + found[3], text)


def _output(arguments: Sequence[str], workspace: Path) -> str:
    command = [sys.executable, "-m", "debatebench", "--root", str(workspace), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def leaderboard_picture(workspace: Path) -> str:
    """The ratings of the demo with their intervals, as SVG."""
    with debatebench.open(workspace) as warehouse:
        rows = warehouse.query(
            "select model_id, rating, ci_low, ci_high from marts.leaderboard where run_tag = 'demo' order by rank"
        ).rows
    low, high = min(row[2] for row in rows), max(row[3] for row in rows)

    def x(rating: float) -> float:
        return round(_LEFT + (rating - low) / (high - low) * _PLOT, 1)

    marks = []
    for place, (model_id, rating, ci_low, ci_high) in enumerate(rows):
        y = _ROW * (place + 1)
        marks += [
            f'<text x="{_LEFT - 16}" y="{y + 5}" text-anchor="end">{escape(model_id)}</text>',
            f'<line x1="{x(ci_low)}" x2="{x(ci_high)}" y1="{y}" y2="{y}" stroke-width="2"/>',
            f'<circle cx="{x(rating)}" cy="{y}" r="5"/>',
            f'<text x="{_LEFT + _PLOT + 24}" y="{y + 5}">{rating:.0f}</text>',
        ]
    height = _ROW * (len(rows) + 2)
    caption = "Bradley–Terry ratings with 95 % intervals; what simulated judges prefer in four topics"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
            f'aria-label="{caption}"><style>{_STYLE}</style>',
            f'<line class="zero" x1="{x(400)}" x2="{x(400)}" y1="10" y2="{height - 50}"/>',
            *marks,
            f'<text class="muted" x="{_LEFT - 16}" y="{height - 16}">{caption}</text>',
            "</svg>\n",
        ]
    )


def built(workspace: Path) -> dict[Path, str]:
    """Every file that is written, with its text; `workspace` holds the run that `DEMO` plays."""
    readme = REPOSITORY / "README.md"
    return {
        readme: with_outputs(readme.read_text(encoding="utf-8"), workspace),
        REPOSITORY / "docs" / "leaderboard.svg": leaderboard_picture(workspace),
    }


def main() -> None:
    """Play the demo, and write the files."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        _output(DEMO, workspace)
        for path, text in built(workspace).items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
