"""Totals of scikit-learn's own tests, kept as evidence: per package and per reason, every failure by name."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from scikit_learn_tests import NOTHING_BUILT, expected_groups, group_of, name_of, packages, reason_of, test_files

NAME, TITLE = "parity", "scikit-learn's own tests"
PROTOCOL = (
    "scikit-learn's tests, imported from the installed package, with our classes in place of its own. A failure has a "
    "reason if a pattern of tests/parity/expected.toml names it; wording alone is one."
)
GOAL = "all tests run, no failure without a reason"
COMMAND = "python tests/parity/scikit_learn_tests.py PACKAGE --out report.json; ... --read report.json ... --store"


def package_of() -> dict[str, str]:
    """The package of every test file."""
    return {name_of(Path(file)): package for package in packages() for file in test_files(package)}


def file_of(result: dict[str, str]) -> str:
    return result["test"].partition("::")[0]


def files_left(results: list[dict[str, str]]) -> dict[str, list[str]]:
    """Per package: the test files of which not all tests have been run."""
    ran = {file_of(result) for result in results if result.get("part") == "all tests"}
    left: dict[str, list[str]] = {package: [] for package in packages()}
    for file, package in package_of().items():
        if file not in ran:
            left[package].append(Path(file).name)
    return left


def totals(results: list[dict[str, str]]) -> dict[str, Counter[str]]:
    """Per package: tests, passed, skipped, and failures with and without a reason."""
    homes, groups = package_of(), expected_groups()
    found: dict[str, Counter[str]] = {}
    for result in results:
        outcome = result["outcome"]
        if outcome == NOTHING_BUILT:
            continue
        if outcome == "failed":
            outcome = "explained" if group_of(result, groups) else "unexplained"
        count = found.setdefault(homes.get(file_of(result), "unknown"), Counter())
        count[outcome] += 1
        count["tests"] += 1
    return found


def store(results: list[dict[str, str]]) -> None:
    """Write benchmarks/results/full_scale/parity.json."""
    sys.path.append(str(Path(__file__).parents[2]))
    from benchmarks.measuring.evidence import Finding, save_findings

    groups, findings = expected_groups(), []
    failed = [result for result in results if result["outcome"] == "failed"]
    known = {result["test"]: reason_of(result, groups) or ("", "") for result in failed}
    found, left = totals(results), files_left(results)
    for package in packages():
        count = found.get(package)
        if count is None:
            findings.append(Finding(package, "not run", GOAL, False))
            continue
        said = (
            f"{count['tests']} tests: {count['passed']} pass, {count['skipped']} skipped, {count['explained']} fail "
            f"with a reason, {count['unexplained']} without"
        )
        if left[package]:
            said += f"; not run in full: {', '.join(left[package])}"
        findings.append(Finding(package, said, GOAL, not left[package] and count["unexplained"] == 0))
    reasons = Counter(group for group, _ in known.values())
    listed = ", ".join(f"{group or 'none'} {number}" for group, number in reasons.most_common())
    findings.append(Finding("failures by reason", listed))
    kept = [
        {"test": result["test"], "reason": group, "pattern": pattern, "error": result["error"][:200]}
        for result in failed
        for group, pattern in [known[result["test"]]]
    ]
    print(save_findings(NAME, TITLE, protocol=PROTOCOL, command=COMMAND, findings=findings, raw=kept))
