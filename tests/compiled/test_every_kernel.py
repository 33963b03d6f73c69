"""No kernel is without a test that runs it compiled and as it is written."""

import ast
from pathlib import Path

import margin

FOLDER, PACKAGE = Path(__file__).parent, Path(margin.__file__).parent
#: Kernels that a test reaches by a function which is given, or told to import, one or the other.
THROUGH = {"network_simplex": "solve_network", "add_attributions": "tree_shap"}


def kernels_of(path):
    """The functions of a file that Python may call."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {f.name for f in functions if any(ast.unparse(mark).startswith("kernel") for mark in f.decorator_list)}


def words_of_tests():
    """What the tests of this folder call by name, or by a string that is its name."""
    words = set()
    for path in FOLDER.glob("*.py"):
        if path != Path(__file__):
            for node in ast.walk(ast.parse(path.read_text())):
                found = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "value", None)
                words |= {found} if isinstance(found, str) else set()
    return words


def test_every_kernel_is_run_compiled_and_as_it_is_written():
    kernels = {name: path for path in PACKAGE.rglob("*_kernels.py") for name in kernels_of(path)}
    assert len(kernels) > 80
    words = words_of_tests()
    assert set(THROUGH) <= kernels.keys()
    assert set(THROUGH.values()) <= words
    missing = {name: str(path.relative_to(PACKAGE)) for name, path in kernels.items() if name not in words}
    assert missing.keys() == THROUGH.keys(), missing


def test_every_module_of_kernels_has_its_tests():
    setup = ast.parse((PACKAGE.parents[1] / "setup.py").read_text())
    bundles = next(
        node.value for node in setup.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BUNDLES"
    )
    tested = {path.stem.removeprefix("test_") for path in FOLDER.glob("test_*.py")}
    assert {ast.literal_eval(key) for key in bundles.keys} <= tested


#: Of one result by IEEE 754, or of none that is rounded; exp, log and pow of a system have other last bits on another.
EXACT = {"ceil", "floor", "isfinite", "isinf", "isnan", "ldexp", "sqrt"}
#: UMAP begins at eigenvectors of LAPACK, whose last bits are the processor's; with our power an epoch takes 1.4 times
#: as long, since every push waits for the one before.
EXCUSED = {"umap_kernels.py": {"pow"}}


def test_kernels_take_functions_from_the_system_that_are_the_same_everywhere():
    for path in PACKAGE.rglob("*_kernels.py"):
        tree = ast.parse(path.read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "math"]
        taken = {alias.name for node in imports for alias in node.names}
        assert taken <= EXACT | EXCUSED.get(path.name, set()), path
        powers = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
        names = {part.id for power in powers for part in ast.walk(power) if isinstance(part, ast.Name)}
        assert all(name.isupper() for name in names), f"{path}: powers are taken by margin.core.elementary_kernels"
