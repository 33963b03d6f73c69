"""What is built: every file of the package is in it, a missing compiler is one sentence, workflows name what exists."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from margin.compiled import CHECKED, LEVELS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "margin"
BUILT = {".so", ".pyd", ".pyc"}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_file_of_the_package_is_in_a_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in BUILT}
    packages = {path.parent for path in files if path.name == "__init__.py"}
    held = {path for package in packages for path in package.glob("*.py")}
    for name, patterns in settings["package-data"].items():
        homes = packages if name == "*" else {ROOT.joinpath("src", *name.split("."))}
        held.update(path for home in homes for pattern in patterns for path in home.glob(pattern))
    assert not files - held, "no package, or package-data of pyproject.toml does not name their kind"


def test_a_source_archive_holds_sources_only():
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    assert {f"prune src/margin/compiled/{level}" for level in (*LEVELS, *CHECKED)} <= set(lines)
    assert {"graft src/margin", "graft compiling"} <= set(lines)


BUNDLED = """
import ast, hashlib, sys
from pathlib import Path
from compiling.bundle import make_bundle
(value,) = (node.value for node in ast.parse(Path("setup.py").read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BUNDLES")
bundles = eval(compile(ast.Expression(value), "setup.py", "eval"))
sources = Path(sys.argv[1])
for name, modules in bundles.items():
    print(name, hashlib.sha256(make_bundle(modules, sources, checked=False).encode()).hexdigest())
"""


def bundles_of(sources, seed="1"):
    """A line with a digest for every module."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BUNDLED, str(sources)]
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return made.stdout.splitlines()


def test_sources_of_kernels_are_the_same_in_every_process():
    """One that differs is compiled again: sets have another order with another seed of their hashes."""
    made = [bundles_of(ROOT / "src", seed) for seed in ("1", "2")]
    assert made[0] == made[1]
    assert 13 <= len(made[0]) < 20  # Cython's own part is compiled once for each


def test_an_edit_changes_the_sources_of_the_modules_that_hold_it(tmp_path):
    files = {*PACKAGE.rglob("*_kernels.py"), *PACKAGE.rglob("kernel_types.py"), PACKAGE / "core" / "kernel_source.py"}
    named = re.findall(r"from (margin\.[\w.]+) import", "".join(path.read_text(encoding="utf-8") for path in files))
    files |= {path for name in named if (path := ROOT.joinpath("src", *name.split(".")).with_suffix(".py")).exists()}
    for path in files:
        copy = tmp_path / path.relative_to(PACKAGE.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    edited, before = tmp_path / "margin" / "reduction" / "umap_kernels.py", set(bundles_of(tmp_path))
    text = edited.read_text(encoding="utf-8")
    edited.write_text(text.replace("LARGEST_MOVE = 4.0", "LARGEST_MOVE = 5.0"), encoding="utf-8")
    assert [line.split()[0] for line in set(bundles_of(tmp_path)) - before] == ["reduction"]
    edited.write_text(text.replace("# of a coordinate", "# of one coordinate"), encoding="utf-8")
    assert set(bundles_of(tmp_path)) == before  # nothing is compiled for a comment


EXTENSIONS = """
import runpy, setuptools
found = {}
setuptools.setup = lambda **said: found.update(said)
runpy.run_path("setup.py")
for extension in found["ext_modules"]:
    print(extension.name, *extension.sources)
"""


@pytest.mark.skipif(not (ROOT / "build" / "kernels" / "svm.c").exists(), reason="kernels were not translated here")
def test_modules_that_are_compiled_at_once_have_objects_of_their_own():
    """An object lies where its source does: levels of one module with one source would write into each other's."""
    done = subprocess.run([sys.executable, "-c", EXTENSIONS], cwd=ROOT, capture_output=True, text=True, check=True)
    names, sources = zip(*(line.split() for line in done.stdout.splitlines()))
    assert len(set(names)) == len(names) > 20
    assert len(set(sources)) == len(names)


@pytest.mark.skipif(sys.platform == "win32", reason="the compiler of Windows is not named by a variable")
@pytest.mark.skipif(not (ROOT / "build" / "kernels" / "svm.c").exists(), reason="kernels were not translated here")
def test_without_a_compiler_one_sentence_says_so():
    environment = {**os.environ, "CC": "no-such-compiler"}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--force"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode
    assert "Traceback" not in ended.stderr
    *_, last = ended.stderr.strip().splitlines()
    assert last.startswith("Margin's kernels could not be compiled")
    assert "no-such-compiler" in last
    assert last.endswith("install a wheel of Margin, which holds them compiled.")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_well_formed(path):
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content.keys() - {"concurrency"} == {"name", True, "permissions", "jobs"}  # YAML: "on" is true
    assert content["name"] == path.stem
    assert content["permissions"] == {"contents": "read"}
    for job in content["jobs"].values():
        assert job.keys() <= {"runs-on", "timeout-minutes", "strategy", "steps"}
        assert isinstance(job["timeout-minutes"], int)
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
        used = re.findall(r"\$\{\{ matrix\.(\w+) \}\}", str(job))
        assert set(used) == set(job.get("strategy", {}).get("matrix", {}))


def test_workflows_run_what_exists():
    assert {"ci", "wheels"} <= {path.stem for path in WORKFLOWS}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    commands = re.findall(r"- run: (.+)", text)
    assert {command.removeprefix("make ") for command in commands if command.startswith("make ")} <= targets
    scripts = [command for command in commands if not command.startswith("make ")]
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)
    versions = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {f"cp{version.replace('.', '')}" for version in versions} == set(re.findall(r"(cp\d+)-\*", text))
