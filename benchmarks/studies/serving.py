"""Many clients at once: ``python -m benchmarks.studies.serving [--clients 1000]``.

``margin serve`` beside a plain FastAPI program that asks onnxruntime row by row, the same logistic regression behind
both, on the loopback address of this machine. Every client sends ``--requests`` requests of one row, one after the
other; all clients at once. Told: requests per second, the median and the 99th percentile of the time until an answer,
and errors. The two servers alternate, and the best of ``--rounds`` counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding, save_findings

ADDRESS = "127.0.0.1"
PLAIN = """
import sys
import numpy as np, onnxruntime, uvicorn
from fastapi import FastAPI, Request
session = onnxruntime.InferenceSession(sys.argv[1])
name, kind = session.get_inputs()[0].name, session.get_inputs()[0].type
dtype = np.float64 if "double" in kind else np.float32
app = FastAPI()
@app.post("/predict")
async def predict(request: Request):
    rows = np.array((await request.json())["rows"], dtype=dtype)
    return {"predictions": session.run(None, {name: rows})[0].tolist()}
@app.get("/health")
def health():
    return {"status": "ok"}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False, backlog=2048)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


async def ask(port: int, rows: list[list[float]], clients: int, requests: int) -> dict[str, Any]:
    """Plain sockets: a client library would be what is measured."""
    seconds: list[float] = []
    errors = 0

    async def client(k: int) -> None:
        nonlocal errors
        try:
            reader, writer = await asyncio.open_connection(ADDRESS, port)
            for i in range(requests):
                began = time.perf_counter()
                errors += await _post(reader, writer, port, {"rows": [rows[(k + i) % len(rows)]]}) != 200
                seconds.append(time.perf_counter() - began)
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            errors += 1

    began = time.perf_counter()
    await asyncio.gather(*(client(k) for k in range(clients)))
    whole = time.perf_counter() - began
    return {
        "requests_per_second": round(len(seconds) / whole, 1),
        "median_ms": round(1e3 * float(np.median(seconds)), 1),
        "p99_ms": round(1e3 * float(np.quantile(seconds, 0.99)), 1),
        "errors": errors,
    }


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, question: Any) -> int:
    """Ask, read the whole answer, and give its status."""
    body = json.dumps(question).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: {ADDRESS}:{port}\r\nContent-Type: application/json\r\n"
    writer.write(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length"))
    await reader.readexactly(length)
    return int(lines[0].split()[1])


def wait_for(port: int) -> None:
    import httpx

    for _ in range(600):
        try:
            httpx.get(f"http://{ADDRESS}:{port}/health", timeout=1)
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise SystemExit(f"serving: nothing answers on port {port}.")


def store(best: dict[str, dict[str, Any]], clients: int, requests: int) -> None:
    """Keep what was measured; the goals are no error, and not to be slower than the plain program."""
    mine, plain = best["margin serve"], best["onnxruntime behind FastAPI"]
    shown = {
        name: f"{found['requests_per_second']:.0f} answers a second, half of them within {found['median_ms']:.0f} ms, "
        f"99 % within {found['p99_ms']:.0f} ms, {found['errors']} errors"
        for name, found in best.items()
    }
    findings = [
        Finding("margin serve: errors", str(mine["errors"]), "none", mine["errors"] == 0),
        Finding(
            "margin serve", shown["margin serve"], "at least as many answers per second as the plain program",
            mine["requests_per_second"] >= plain["requests_per_second"],
        ),
        Finding("onnxruntime behind FastAPI, row by row", shown["onnxruntime behind FastAPI"]),
    ]  # fmt: skip
    save_findings(
        "serving",
        "A thousand clients at once",
        protocol=f"{clients} clients on the loopback address, {requests} requests of one row each, one by one; "
        "the same logistic regression behind both servers, which alternate; the best round of each.",
        command=f"python -m benchmarks.studies.serving --clients {clients} --requests {requests}",
        findings=findings,
        raw=best,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.serving", description=__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from sklearn.datasets import load_breast_cancer

    import margin

    X, y = load_breast_cancer(return_X_y=True)
    model = margin.LogisticRegression().fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        file, graph, program = (Path(folder) / name for name in ("m.safetensors", "m.onnx", "plain.py"))
        margin.save(model, file)
        margin.export_onnx(model, graph)
        program.write_text(PLAIN)
        ports = {"margin serve": free_port(), "onnxruntime behind FastAPI": free_port()}
        commands = {
            "margin serve": ["-m", "margin", "serve", str(file), "--port", str(ports["margin serve"])],
            "onnxruntime behind FastAPI": [str(program), str(graph), str(ports["onnxruntime behind FastAPI"])],
        }
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        servers = [subprocess.Popen([sys.executable, *words], env=environment) for words in commands.values()]
        try:
            best: dict[str, dict[str, Any]] = {}
            for port in ports.values():
                wait_for(port)
            for _ in range(options.rounds):
                for name, port in ports.items():
                    found = asyncio.run(ask(port, X.tolist(), options.clients, options.requests))
                    if name not in best or found["requests_per_second"] > best[name]["requests_per_second"]:
                        best[name] = found
            for name, found in best.items():
                print(f"{name}: {found}")
            store(best, options.clients, options.requests)
        finally:
            for server in servers:
                server.send_signal(signal.SIGTERM)
            for server in servers:
                server.wait(30)


if __name__ == "__main__":
    main()
