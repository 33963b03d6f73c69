"""Shared by all tests. Thread limits must stand before NumPy and torch are imported."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MARGIN_NUM_THREADS", "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")  # bfloat16 on AMX ends the process on some guests

import pytest
from hypothesis import HealthCheck, settings
from tests.chromium import ARGUMENTS, CHROMIUM

# No clock: on a busy machine drawing an example may take seconds.
settings.register_profile(
    "margin", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("margin")


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch):
    """Tests read output as text: a fixed width and no colors, whatever terminal runs them."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("MARGIN_DATA", raising=False)


def pytest_terminal_summary(terminalreporter):
    """What the contracts covered, in numbers: a suite that silently checked less would show here."""
    from margin.notes import atlas

    def count(outcome, name):
        return sum(name in report.nodeid for report in terminalreporter.stats.get(outcome, []))

    if count("passed", "test_scikit_learn_check"):
        passed, expected = (count(outcome, "test_scikit_learn_check") for outcome in ("passed", "xfailed"))
        terminalreporter.write_line(
            f"scikit-learn estimator checks: {passed} hold, {expected} cannot and say why in the catalog"
        )
    if count("passed", "test_claim_holds"):
        wanted, built = atlas.inventory().values(), atlas.rows()
        areas = {area: [e.id in built for e in wanted if e.area == area] for area in atlas.areas()}
        parts = [f"{area} {sum(done)}/{len(done)}" for area, done in areas.items() if any(done)]
        terminalreporter.write_line(f"atlas: {len(built)} of {len(wanted)} rows built: {', '.join(parts)}")


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a process: Playwright runs once per thread."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: apt install chromium-headless-shell")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()
