"""The pages as HTML. Every value is made visible and escaped by the templates, as in reports."""

from __future__ import annotations

from dataclasses import asdict, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from debatebench.landing.annotation_journals import FormState
from debatebench.output.annotation.debates import NOT_SHOWN, TWO_SIDES, ShownDebate
from debatebench.output.annotation.form_words import (
    SKIP_WORDS,
    change_in_words,
    skips_in_words,
    words_in_list,
    words_on_page,
)
from debatebench.output.annotation.review import Review, proposed
from debatebench.output.annotation.review_views import is_filled_in, people_said, review_data, review_in_list
from debatebench.output.annotation.session import Session
from debatebench.output.report.html import environment, render
from debatebench.shared.scales import plain

ASSETS = {
    "annotation.css": "text/css",
    "annotation.js": "text/javascript",
    "agreed.js": "text/javascript",
    "answers.js": "text/javascript",
    "keys.js": "text/javascript",
    "ranks.js": "text/javascript",
    "scores.js": "text/javascript",
    "reading.js": "text/javascript",
    "speaking.js": "text/javascript",
    "versions.js": "text/javascript",
}
"""The files that pages load, and their types."""
_FOLDER = Path(__file__).with_name("assets")
_CONFIDENCES = {1: "a guess", 2: "unsure", 3: "fairly sure", 4: "sure", 5: "certain"}
_WINNERS = {**TWO_SIDES, "tie": "Tie"}
_PLACES = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th"}


def _plain(score: Decimal | int | float) -> str:
    """A score as text, with the decimals that were chosen."""
    return plain(Decimal(repr(score)) if isinstance(score, float) else Decimal(score))


class Views:
    """The pages of one person's work. `root` is the path before every address."""

    def __init__(self, session: Session, review: Review | None, root: str) -> None:
        self._session = session
        self._review = review
        self._root = root
        keys: dict[str, list[str]] = {}
        for dimension in dict.fromkeys(each for debate in session.debates for each in debate.dimensions):
            keys.setdefault(dimension.keys, []).append(dimension.title)
        self._keys_of_scores = keys
        self._environment = _templates()

    def asset(self, name: str) -> tuple[bytes, int, dict[str, str]]:
        """The content of a file that pages load, the status, and its headers."""
        return (_FOLDER / name).read_bytes(), 200, {"content-type": f"{ASSETS[name]}; charset=utf-8"}

    def overview(self, after: str | None = None) -> str:
        """The page with the progress and all debates; `after` is the key of the debate that was just handed in."""
        return self._render("overview.html", {"overview": self.overview_data(), "after": self._handed_in(after)})

    def overview_data(self) -> dict[str, Any]:
        """Whose work it is, how much of it is done, and the state of each debate in order."""
        session = self._session
        listed = review_in_list(self._review, session.debates) if self._review else {}
        forms = session.journal.forms()
        if self._review:
            skips = {
                (each.debate_id, each.skip_reason) for said in self._review.annotations().values() for each in said
            }
            skipped = skips_in_words(reason for _, reason in sorted(skips, key=str))
        else:
            states = (forms.of(debate.debate_id) for debate in session.debates)
            skipped = skips_in_words(state.form.get("skip_reason") for state in states if state.is_handed_in)
        debates = []
        for debate in session.debates:
            state = forms.of(debate.debate_id)
            shown: dict[str, Any] = {
                "key": debate.key,
                "motion": debate.motion,
                "status": state.status,
                "words": words_in_list(state),
            }
            debates.append(shown | listed.get(debate.debate_id, {}))
        return {
            "run_tag": session.run_tag,
            "author": session.author,
            **asdict(session.progress()),
            "next": session.next_key(),
            "skipped_for": skipped,
            "left_out": session.material.left_out,
            "not_shown": NOT_SHOWN,
            "debates": debates,
        }

    def debate(self, debate: ShownDebate, after: str | None = None) -> str:
        """The page of a debate: its speeches and its form; `after` is as in `overview`."""
        from markupsafe import escape

        session = self._session
        place = session.debates.index(debate)
        state = self.filled_in(debate, session.state(debate))
        review = self._review_data(debate)
        values = {
            "debate": debate,
            "state": state,
            "saved": self.state_data(debate, state),
            "after": self._handed_in(after),
            # What a person has typed goes back to the form as it is, hidden characters too, or a save would change it.
            "reasons": escape(state.form.get("justification") or ""),
            "position": place + 1,
            "total": len(session.debates),
            "done": session.progress().done,
            "before": session.debates[place - 1].key if place else None,
            "following": session.debates[place + 1].key if place + 1 < len(session.debates) else None,
            "people": people_said(self._review, debate) if self._review else [],
            "review": review,
            "material": session.material,
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
            "speeches": [
                {"side": each.side, "stage": each.stage, "text": each.text, "language": each.language}
                for each in debate.speeches
            ],
            "dimensions": [
                {
                    "dimension": each.name,
                    "description": each.description,
                    "scale": {name: plain(getattr(each.scale, name)) for name in ("low", "high", "step")},
                    "anchors": {anchor.score: anchor.text for anchor in each.anchors},
                    "weight": float(each.weight),
                    "asked": debate.asked_of(each),
                    "guidance": [{"when": when, "text": text} for when, text in each.guidance],
                }
                for each in debate.dimensions
            ],
            "sides": debate.names,
            **self.state_data(debate, state),
        }
        if self._review:
            data["annotations"] = people_said(self._review, debate)
            data["review"] = review_data(self._review, debate)
        return data

    def filled_in(self, debate: ShownDebate, state: FormState) -> FormState:
        """The state of a form as its page shows it: in a review, a form without answers has those on which all agree.

        Nothing of it is saved before the reviewer changes something or records the verdict.
        """
        if self._review is None or not is_filled_in(state):
            return state
        annotations = self._review.annotations().get(debate.debate_id, [])
        return replace(state, form=proposed(annotations, debate))

    def _review_data(self, debate: ShownDebate) -> dict[str, Any] | None:
        return review_data(self._review, debate) if self._review else None

    def state_data(self, debate: ShownDebate, state: FormState) -> dict[str, Any]:
        """What a form is now: its answers, the words for its state, the versions aside, and what can be undone."""
        forms = self._session.journal.forms()
        shown = self.filled_in(debate, state)
        undo, redo = (
            None
            if to is None
            else change_in_words(shown, self.filled_in(debate, forms.at(debate.debate_id, to)), debate)
            for to in (state.undo_to, state.redo_to)
        )
        return {
            "revision": state.revision,
            "form": state.form,
            "is_handed_in": state.is_handed_in,
            "status": state.status,
            "words": words_on_page(state),
            "undo": undo,
            "redo": redo,
            "asides": [{"window": window, "form": each.form, "at": each.at} for window, each in state.asides.items()],
        }

    def _handed_in(self, key: str | None) -> ShownDebate | None:
        """The debate of this key if it is handed in."""
        debate = self._session.debate(key or "")
        return debate if debate is not None and self._session.state(debate).is_handed_in else None

    def _render(self, template: str, values: dict[str, Any]) -> str:
        common = {
            "root": self._root,
            "session": self._session,
            "is_review": self._session.is_review,
            "confidences": _CONFIDENCES,
            "skip_reasons": SKIP_WORDS,
            "winners": _WINNERS,
            "places": _PLACES,
            "plain": _plain,
            "keys_of_scores": self._keys_of_scores,
        }
        return render(self._environment, template, {**common, **values})


@cache
def _templates() -> Environment:
    return environment({f"templates/{file.name}": file for file in _FOLDER.glob("*.html")})
