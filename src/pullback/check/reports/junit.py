"""Reports as JUnit XML, which build servers read: a suite for each target, a case for each probe."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from pullback.check.probing.faults import CATALOGUE
from pullback.check.verdicts import Report


def as_junit(reports: Sequence[Report]) -> str:
    """The XML document."""
    root = ET.Element("testsuites", name="pullback check")
    for report in reports:
        root.append(_suite(report))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(report: Report) -> ET.Element:
    cases = len(report.outcomes) + bool(report.error) + len(report.grave)
    failures = sum(outcome.verdict == "fault" for outcome in report.outcomes) + len(report.grave)
    suite = ET.Element(
        "testsuite", name=report.name, tests=str(cases), failures=str(failures), errors=str(int(bool(report.error)))
    )
    for outcome in report.outcomes:
        case = ET.SubElement(
            suite, "testcase", classname=report.name, name=outcome.probe, time=f"{outcome.seconds:.3f}"
        )
        if outcome.verdict in {"inconclusive", "not applicable"}:
            ET.SubElement(case, "skipped", message="; ".join([outcome.verdict, *outcome.notes]))
        for fault in outcome.faults:
            entry = CATALOGUE[fault.name]
            failure = ET.SubElement(case, "failure", type=fault.name, message=f"{entry.summary}: {fault.message}")
            failure.text = "\n".join(
                [
                    f"found {fault.found}, expected {fault.expected}",
                    f"inputs: {fault.inputs}",
                    f"at {fault.where}",
                    f"instead: {entry.instead}",
                ]
            )
    for finding in report.grave:
        case = ET.SubElement(suite, "testcase", classname=report.name, name=finding.code)
        ET.SubElement(case, "failure", type=finding.name, message=finding.message).text = f"instead: {finding.instead}"
    if report.error:
        case = ET.SubElement(suite, "testcase", classname=report.name, name="target")
        ET.SubElement(case, "error", message=report.error)
    return suite
