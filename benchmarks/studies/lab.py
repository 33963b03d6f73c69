"""How fast the lab answers: ``python -m benchmarks.studies.lab [--drags 20] [--seconds 6] [--runs 1000] [--store]``.

In Chromium, on the stage of points in the plane: from a dragged point to the first record of the fit that follows it,
and frames of a fit that runs freely; without one, the listing of many run folders. On a loaded machine only processor
time says anything, so each figure stands beside the processor time that it cost: of the process that fits, of the
server, of the browser. They run beside each other, so a frame costs as much as the dearest of the three.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import margin
from benchmarks.measuring.evidence import Finding, save_findings
from margin.service.run_listing import list_runs

TICKS = os.sysconf("SC_CLK_TCK")
ENDLESS = "/play/mlp-classifier?data=spirals&set=max_iter%3D100000%3Bn_iter_no_change%3D100000"
WAIT = 300.0  # seconds
#: In the page: when the mouse moved last, and when the first record of another fit was there.
WATCH = """() => {
  window.moved = 0; window.shown = 0;
  addEventListener("pointermove", () => { window.moved = performance.now(); window.shown = 0; }, true);
  const number = () => document.querySelector(".position b")?.textContent;
  new MutationObserver(() => { if (!window.shown && number() === "1") window.shown = performance.now(); }).observe(
    document.querySelector(".transport"), { subtree: true, characterData: true, childList: true });
}"""


@contextmanager
def served() -> Iterator[tuple[str, Any]]:
    """A lab in this process: its address with the token, and its sessions."""
    import uvicorn

    from margin.lab.app import create_app
    from margin.lab.serving import _listen

    with tempfile.TemporaryDirectory() as folder:
        listening = _listen(0)
        port = listening.getsockname()[1]
        app = create_app(token="t", port=port, folder=folder)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}", app.state.lab.sessions
        server.should_exit = True
        thread.join(30)


def processor_seconds(pids: list[int]) -> float:
    return sum(sum(map(int, _stat(pid)[11:13])) for pid in pids) / TICKS


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return ["0"] * 20


def browsers() -> list[int]:
    """All processes of the browser, which are below this one."""
    parents = {int(p.name): int(_stat(int(p.name))[1]) for p in Path("/proc").iterdir() if p.name.isdecimal()}
    found, below = [], {os.getpid()}
    while below:
        below = {pid for pid, parent in parents.items() if parent in below}
        found += [pid for pid in below if "chrom" in _name(pid) or "headless" in _name(pid)]
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


class Meter:
    """Processor time of the three since the last look."""

    def __init__(self, fitting: int):
        self.fitting, self.browser = [fitting], browsers()
        self.look()

    def _now(self) -> dict[str, float]:
        own = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "fit": processor_seconds(self.fitting),
            "server": own.ru_utime + own.ru_stime,
            "browser": processor_seconds(self.browser),
        }

    def look(self) -> dict[str, float]:
        now, before = self._now(), getattr(self, "_seen", None)
        self._seen = now
        return {name: now[name] - before[name] for name in now} if before else now


def position(page: Any) -> int:
    return int(next(iter(page.locator(".position b").all_inner_texts()), 0))


def watched(page: Any, sessions: Any) -> int:
    """The process whose fit the page shows."""
    return sessions.get(page.evaluate("JSON.parse(sessionStorage.getItem('margin-session-a')).id")).pid


def wait_for(page: Any, what: str, condition: Any) -> Any:
    end = time.monotonic() + WAIT
    while not (found := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"lab: {what} never came; the page shows: {page.inner_text('.stages')[:200]!r}")
        page.wait_for_timeout(20)
    return found


def drags(page: Any, sessions: Any, count: int) -> Finding:
    """From a moved point to the first record of the fit that follows it."""
    page.goto(page.url.partition("/play")[0] + "/play/mlp-classifier?data=spirals&speed=1")
    wait_for(page, "a second record", lambda: position(page) >= 2)
    page.evaluate(WATCH)
    box = page.locator("canvas.chart").bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.12 * box["height"]
    page.mouse.click(x, y)  # a point of our own, where we know it
    wait_for(page, "the fit of the added point", lambda: position(page) == 1)
    meter = Meter(watched(page, sessions))
    waits, costs = [], []
    for k in range(count):
        wait_for(page, "a second record", lambda: position(page) >= 2)
        page.mouse.move(x, y)
        page.mouse.down()
        meter.look()
        x += 3 if k % 2 else -3
        page.mouse.move(x, y)
        wait_for(page, "the first record after a drag", lambda: page.evaluate("window.shown"))
        costs.append(meter.look())
        waits.append(page.evaluate("window.shown - window.moved"))
        page.mouse.up()
    told = ", ".join(f"{name} {1000 * statistics.median(cost[name] for cost in costs):.0f}" for name in costs[0])
    middle = statistics.median(waits)
    measured = f"median of {count} {middle:.0f} ms by the clock, {max(waits):.0f} at most; processor ms: {told}"
    return Finding("from a dragged point to the first record of its fit", measured, "below 200 ms", middle < 200)


def frames(page: Any, sessions: Any, seconds: float) -> Finding:
    """Frames of a fit that runs as fast as it goes, drawn by the browser."""
    page.goto(page.url.partition("/play")[0] + ENDLESS)
    wait_for(page, "a twentieth record", lambda: position(page) >= 20)
    page.evaluate("""() => { window.frames_ = 0; new MutationObserver(() => { window.frames_ += 1; })
      .observe(document.querySelector(".position b").firstChild, { characterData: true }); }""")
    meter, began, before = Meter(watched(page, sessions)), time.monotonic(), position(page)
    time.sleep(seconds)
    drawn, cost = page.evaluate("window.frames_"), meter.look()
    took, records = time.monotonic() - began, position(page) - before
    each = {name: 1000 * value / max(drawn, 1) for name, value in cost.items()}
    told = ", ".join(f"{name} {value:.0f}" for name, value in each.items())
    measured = (
        f"{drawn / took:.0f} a second by the clock ({records / took:.0f} records); processor ms of each: {told}; where "
        f"each has a core of its own {1000 / max(each.values()):.0f} a second"
    )
    return Finding("frames of a fit that runs freely", measured, "at least 20 a second", drawn / took >= 20)


def listing(count: int) -> list[Finding]:
    """Many run folders, listed."""
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "run-0"
        iris = margin.data.load("iris")
        margin.fit(margin.catalog.create("gradient-boosting-classifier"), iris.X, iris.y, run=first)
        for k in range(1, count):
            shutil.copytree(first, first.with_name(f"run-{k}"))
        findings = []
        for what in ("first", "second"):
            before = time.process_time()
            found = len(list_runs(Path(folder)))
            took = time.process_time() - before
            measured = f"{took:.2f} s of processor time"
            findings.append(Finding(f"listing of {found} run folders, {what} time", measured, "below 1 s", took < 1))
    return findings


def show(findings: list[Finding]) -> list[Finding]:
    for finding in findings:
        print(f"{finding.what}: {finding.measured}", flush=True)
    return findings


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.lab", description=__doc__)
    parser.add_argument("--drags", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--store", action="store_true", help="Keep what was measured, for the page of the benchmarks.")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"load {load:.1f} on {os.cpu_count()} processors", flush=True)
    findings = show(listing(options.runs))
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        print("There is no Chromium: nothing was dragged or drawn.")
        return
    from playwright.sync_api import sync_playwright

    with served() as (address, sessions), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.goto(f"{address}/play?token=t")
        findings += show([drags(page, sessions, options.drags)])
        findings += show([frames(page, sessions, options.seconds)])
        browser.close()
    if options.store:
        save_findings(
            "lab",
            "The lab: how fast it answers",
            protocol=(
                "The stage of points in the plane (two hidden layers of 16 on spirals) in headless Chromium, which "
                "draws by the processor; server, fit and browser on the same "
                f"{os.cpu_count()} cores, load {load:.1f} when it began. Processor time is that of the process that "
                "fits, of the server, of the browser."
            ),
            command=f"python -m benchmarks.studies.lab --drags {options.drags} --seconds {options.seconds:g} --store",
            findings=findings,
        )


if __name__ == "__main__":
    main()
