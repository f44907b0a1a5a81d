"""The pages as HTML. Every value is made visible and escaped by the templates, as in reports."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from debatebench.output.annotation.debates import NOT_SHOWN, TWO_SIDES, ShownDebate
from debatebench.output.annotation.review import Review, parts
from debatebench.output.annotation.session import Session
from debatebench.output.report.html import environment, render
from debatebench.shared.records import Annotation

ASSETS = {
    "annotation.css": "text/css",
    "annotation.js": "text/javascript",
    "ranks.js": "text/javascript",
    "reading.js": "text/javascript",
}
"""The files that pages load, and their types."""
_FOLDER = Path(__file__).with_name("assets")
_CONFIDENCES = {1: "a guess", 2: "unsure", 3: "fairly sure", 4: "sure", 5: "certain"}
_WINNERS = {**TWO_SIDES, "tie": "Tie"}
_PLACES = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th"}


class Views:
    """The pages of one person's work. `root` is the path before every address."""

    def __init__(self, session: Session, review: Review | None, root: str) -> None:
        self._session = session
        self._review = review
        self._root = root
        self._environment = environment({f"templates/{file.name}": file for file in _FOLDER.glob("*.html")})

    def asset(self, name: str) -> tuple[bytes, int, dict[str, str]]:
        """The content of a file that pages load, the status, and its headers."""
        return (_FOLDER / name).read_bytes(), 200, {"content-type": f"{ASSETS[name]}; charset=utf-8"}

    def overview(self) -> str:
        """The page with the progress and all debates."""
        return self._render("overview.html", {"overview": self.overview_data()})

    def overview_data(self) -> dict[str, Any]:
        """Whose work it is, how much of it is done, and the state of each debate in order."""
        session = self._session
        annotations = self._review.annotations() if self._review else {}
        forms = session.journal.forms()
        debates = []
        for debate in session.debates:
            state = forms.of(debate.debate_id)
            shown: dict[str, Any] = {
                "key": debate.key,
                "motion": debate.motion,
                "status": "done" if state.is_handed_in else "changed" if state.record else "draft",
            }
            if not state.revision:
                shown["status"] = "open"
            if self._review:
                people = annotations.get(debate.debate_id, [])
                shown |= {"annotators": [each.annotator_id for each in people], "parts": parts(people)}
            debates.append(shown)
        return {
            "run_tag": session.run_tag,
            "author": session.author,
            "done": session.count_done(),
            "total": len(session.debates),
            "next": session.next_key(),
            "not_shown": NOT_SHOWN,
            "debates": debates,
        }

    def debate(self, debate: ShownDebate) -> str:
        """The page of a debate: its speeches and its form."""
        from markupsafe import escape

        session = self._session
        place = session.debates.index(debate)
        state = session.state(debate)
        values = {
            "debate": debate,
            "state": state,
            # What a person has typed goes back to the form as it is, hidden characters too, or a save would change it.
            "reasons": escape(state.form.get("justification") or ""),
            "position": place + 1,
            "total": len(session.debates),
            "done": session.count_done(),
            "before": session.debates[place - 1].key if place else None,
            "after": session.debates[place + 1].key if place + 1 < len(session.debates) else None,
            "material": session.material,
            "people": self._people(debate),
            "api": f"{self._root}/api/debates/{debate.key}",
        }
        return self._render("debate.html", values)

    def debate_data(self, debate: ShownDebate) -> dict[str, Any]:
        """The same as data: what a script needs to read a debate and to fill in its form."""
        state = self._session.state(debate)
        data: dict[str, Any] = {
            "key": debate.key,
            "motion": debate.motion,
            "category": debate.category,
            "info_slide": debate.info_slide,
            "rules": debate.rules,
            "language": self._session.material.language,
            "speeches": [{"side": each.side, "stage": each.stage, "text": each.text} for each in debate.speeches],
            "dimensions": [
                {
                    "dimension": each.name,
                    "description": each.description,
                    "anchors": {str(score): text for score, text in each.anchors},
                    "weight": float(each.weight),
                    "guidance": [{"when": when, "text": text} for when, text in each.guidance],
                }
                for each in debate.dimensions
            ],
            "sides": debate.names,
            "revision": state.revision,
            "form": state.form,
            "is_handed_in": state.is_handed_in,
        }
        if self._review:
            data["annotations"] = self._people(debate)
        return data

    def _people(self, debate: ShownDebate) -> list[dict[str, Any]]:
        """The annotations of a debate, in a review."""
        if self._review is None:
            return []
        return [
            {
                "annotator": each.annotator_id,
                "winner": each.winner,
                "confidence": each.confidence,
                "is_coherent": each.is_coherent,
                "justification": each.justification,
                "ranks": {place.team: place.rank for place in each.ranks or ()},
                "scores": _scores_of(each),
            }
            for each in self._review.annotations().get(debate.debate_id, [])
        ]

    def _render(self, template: str, values: dict[str, Any]) -> str:
        common = {
            "root": self._root,
            "session": self._session,
            "is_review": self._session.is_review,
            "confidences": _CONFIDENCES,
            "winners": _WINNERS,
            "places": _PLACES,
        }
        return render(self._environment, template, {**common, **values})


def _scores_of(annotation: Annotation) -> dict[str, dict[str, str]]:
    """Dimension → side or team → score as text."""
    found: dict[str, dict[str, str]] = {}
    for score in annotation.scores or ():
        found[score.dimension] = {"pro": _exact(score.pro), "con": _exact(score.con)}
    for each in annotation.team_scores or ():
        found.setdefault(each.dimension, {})[each.team] = _exact(each.score)
    return found


def _exact(score: Decimal) -> str:
    return f"{score.normalize():f}"
