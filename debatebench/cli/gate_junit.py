"""The outcome of a gate as JUnit's XML, which CI services show as tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from debatebench.shared.visible_text import visible


@dataclass(frozen=True, slots=True)
class GateCase:
    """One check as a test: the measure or attack, the debater or judge, and its sentence if it did not just pass."""

    group: str
    name: str
    outcome: Literal["passed", "failed", "unsettled", "missing"]
    sentence: str


def junit_text(suite: str, cases: Sequence[GateCase], failures: Sequence[str], warnings: Sequence[str]) -> str:
    """One test suite, with a test for each check and for each further failure of the gate.

    A test fails where `failures` has its sentence. A check that chance may explain passes and has its sentence as
    output; a debater whose absence is allowed is a skipped test.
    """
    root = Element("testsuite", name=visible(suite))
    left = list(failures)
    count_skipped = 0
    for case in cases:
        test = SubElement(root, "testcase", classname=visible(case.group), name=visible(case.name))
        if case.sentence in failures:
            left = [failure for failure in left if failure != case.sentence]
            SubElement(test, "failure", message=visible(case.sentence))
        elif case.outcome == "missing":
            count_skipped += 1
            SubElement(test, "skipped", message=visible(case.sentence))
        elif case.outcome != "passed":
            SubElement(test, "system-out").text = visible(case.sentence)
    for failure in left:
        test = SubElement(root, "testcase", classname="comparison", name=visible(failure.partition(":")[0]))
        SubElement(test, "failure", message=visible(failure))
    if warnings:
        SubElement(root, "system-err").text = visible("\n".join(warnings), keep_lines=True)
    root.set("tests", str(len(root.findall("testcase"))))
    root.set("failures", str(len(root.findall("testcase/failure"))))
    root.set("errors", "0")
    root.set("skipped", str(count_skipped))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"
