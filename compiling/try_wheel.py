"""``python -m compiling.try_wheel dist``: whether the wheel in the folder works where nothing can be compiled.

It is installed alone into a new environment that borrows the packages of this one, but for this one's Margin, and is
used by a process that finds no compiler. Before, ``make dist`` makes a source archive and the wheel from that alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

__all__ = ["main"]

PROGRAM = """
import shutil, sys
from pathlib import Path
import numpy as np
import margin, margin.compiled
home = Path(margin.__file__).resolve()
assert home.is_relative_to(Path(sys.prefix).resolve()), f"margin came from {home}"
assert not any(shutil.which(name) for name in ("cc", "gcc", "clang", "cl")), "a compiler is in reach"
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
for model in (margin.RandomForestClassifier(random_state=0), margin.HistGradientBoostingClassifier(), margin.SVC()):
    score = model.fit(X, y).score(X, y)
    assert score > 0.9, (model, score)
assert len(set(margin.KMeans(3, random_state=0).fit(X).predict(X))) == 3
assert margin.KNeighborsRegressor().fit(X, X[:, 0]).score(X, X[:, 0]) > 0.8
margin.save(model, "model.safetensors")
assert (margin.load("model.safetensors").predict(X) == model.predict(X)).all()
print("margin", margin.__version__, "works from its wheel, kernels of", Path(margin.compiled.__path__[0]).name)
"""


def main(folder: Path) -> None:
    (wheel,) = folder.glob("margin-*.whl")
    with tempfile.TemporaryDirectory() as place:
        home = Path(place, "environment")
        venv.create(home, with_pip=False, symlinks=os.name != "nt")
        names = "Scripts" if os.name == "nt" else "bin"
        python = home / names / ("python.exe" if os.name == "nt" else "python")
        told = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        packages = Path(subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip())
        install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([sys.executable, *install, f"--target={packages}", str(wheel)], check=True)
        # Behind its own packages: what this environment has is found there, except Margin.
        (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PATH")}
        subprocess.run(
            [str(python), "-I", "-c", PROGRAM], check=True, cwd=place, env=kept | {"PATH": str(home / names)}
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
