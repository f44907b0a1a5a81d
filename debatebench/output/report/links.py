"""Links within the site: to its pages, to one debate, or to the debates that a number counts."""

from __future__ import annotations

from posixpath import dirname, relpath
from urllib.parse import quote

DEBATES_PAGE = "debates.html"
FACETS = (
    "run",
    "debater",
    "opponent",
    "side",
    "result",
    "topic",
    "category",
    "winner",
    "split",
    "panel",
    "vote",
    "weakness",
    "flagged",
    "status",
    "rated",
    "q",
    "debate",
    "turn",
    "judge",
    "beside",
)
"""What a link can ask the page of debates for; `reports/README.md` says what each one means."""


def relative(path: str, target: str) -> str:
    """The link from the page at one path of the site to the page at another."""
    return relpath(target, dirname(path) or ".")


def debates_link(root: str, *, run_tag: str, **facets: str | int | None) -> str:
    """Where the debates of a run are that have all `facets`; those that are `None` are left out.

    The facets are those of `FACETS`: `debate` (and `turn`, `judge` or `beside` in it), or what the page of debates can
    filter by. `root` leads from the page with the link to the top of the site.
    """
    given = {"run": run_tag, **facets}
    state = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in given.items() if value is not None)
    return f"{root}{DEBATES_PAGE}#{state}"
