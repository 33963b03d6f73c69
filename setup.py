"""Compiles the kernels: Python files with types, named ``*_kernels.py``, which Cython translates to C.

Every entry of ``BUNDLES`` becomes one module ``margin.compiled.NAME``: its files and the kernels that they import are
put into a single source (``compiling/bundle.py``), so that a function of one file is inlined into another.

``MARGIN_KERNELS=debug`` compiles with checked bounds into a folder of its own, ``MARGIN_KERNELS=sanitized`` with the
address sanitizer of gcc or clang, which also sees what pointers touch; a process that is started with the same variable
uses these (:mod:`margin.compiled`).
"""

from __future__ import annotations

import filecmp
import os
import platform
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent))

from compiling.bundle import make_bundle

#: What is compiled into one module. Files that these import are found by themselves.
BUNDLES = {
    "bayes": ["margin.bayes.accumulate_kernels"],
    "boosting": [
        *("margin.trees.boosting.round_kernels", "margin.trees.boosting.leaf_kernels"),
        *("margin.trees.boosting.prediction_kernels", "margin.trees.boosting.worker_kernels"),
    ],
    "cart": [
        "margin.trees.cart.growing_kernels",
        *("margin.trees.cart.walking_kernels", "margin.trees.cart.keyed_kernels"),
    ],
    "cluster": ["margin.cluster.kmeans_kernels", "margin.cluster.plusplus_kernels"],
    "graphical": [
        *("margin.graphical.chain_kernels", "margin.graphical.gibbs_kernels", "margin.graphical.score_kernels"),
    ],
    "linear": ["margin.linear.coordinate_kernels", "margin.linear.average_kernels"],
    "neighbors": ["margin.foundations.neighbors.scan_kernels", "margin.foundations.neighbors.tile_tree_kernels"],
    "reduction": [
        *("margin.reduction.mesh_kernels", "margin.reduction.path_kernels"),
        *("margin.reduction.tsne_kernels", "margin.reduction.umap_kernels"),
    ],
    "svm": [
        *("margin.kernels.smo_kernels", "margin.kernels.small_pairs_kernels", "margin.kernels.column_kernels"),
        *("margin.kernels.dual_descent_kernels", "margin.kernels.l1_squared_hinge_kernels"),
        "margin.kernels.newton_kernels",
        *("margin.kernels.crammer_singer_kernels", "margin.kernels.gaussian_process.radial_kernels"),
    ],
    "text": [
        *("margin.text.bpe_kernels", "margin.text.piece_kernels", "margin.text.topic_kernels"),
        *("margin.text.chain_kernels", "margin.text.word2vec_kernels", "margin.text.glove_kernels"),
    ],
    "transport": ["margin.foundations.transport.network_simplex_kernels"],
    "trees": ["margin.trees.binning_kernels", "margin.trees.shap_kernels"],
    "vision": ["margin.vision.detection.segment_kernels", "margin.vision.detection.suppression_kernels"],
}
#: Bundles that gain more than a tenth from wider vectors, to the same bits, and the levels of x86-64 for which they are
#: compiled once more; the best is chosen at import.
WIDE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("boosting", "cluster", "neighbors", "reduction", "svm", "text"), ("v3", "v4")),
    "cart": ("v3",),
    "graphical": ("v3",),
    **dict.fromkeys(("linear", "bayes", "trees", "transport"), ("v3", "v4")),
}
#: Further flags of a bundle, with their reason. None may change results that are finite.
FLAGS: dict[str, list[str]] = {}

SOURCES = Path("src")
CHECKED = os.environ.get("MARGIN_KERNELS", "") if os.environ.get("MARGIN_KERNELS") in ("debug", "sanitized") else ""
DEBUG = CHECKED == "debug"
GENERATED = Path("build", f"kernels-{CHECKED}" if CHECKED else "kernels")
COMPILED = Path("build", "compiled")  # pip gives every build a folder of its own: an edit would compile everything
IS_WINDOWS = sys.platform == "win32"
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "infer_types": True,
    "show_performance_hints": False,
}
# Products must not be contracted into fused operations, nor sums reordered: the same bits on every machine.
UNIX = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv"]
# Python's own flags ask for symbols of a debugger, which cost a quarter of the time and most of the size. Bundles take
# files whole, so some functions of a module have no caller in it.
UNIX += ["-g0", "-Wno-maybe-uninitialized", "-Wno-unused-function"]
WINDOWS = ["/O2", "/fp:precise"]
SANITIZER = ["-fsanitize=address", "-fno-omit-frame-pointer"]


def write_bundles() -> dict[str, Path]:
    """A source for every bundle; one that has not changed keeps its date, so it is not compiled again."""
    GENERATED.mkdir(parents=True, exist_ok=True)
    paths = {name: GENERATED / f"{name}.pyx" for name in BUNDLES}
    for name, path in paths.items():
        text = make_bundle(BUNDLES[name], SOURCES, checked=DEBUG)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return paths


def variants() -> dict[str, list[str]]:
    """The folders of compiled modules, with the flags for the processors that they are for."""
    if CHECKED:
        sanitizer = SANITIZER if CHECKED == "sanitized" else []
        return {CHECKED: ["/Od"] if IS_WINDOWS else ["-O1", "-g", *sanitizer]}
    if IS_WINDOWS or not IS_X86:
        return {"baseline": []}
    wide = ["-march=x86-64-v4", "-mprefer-vector-width=512"]
    return {"baseline": ["-march=x86-64-v2"], "v3": ["-march=x86-64-v3"], "v4": wide}


def extensions() -> list[Extension]:
    from Cython.Build import cythonize

    sources = [Extension(f"margin.compiled.{name}", [str(path)]) for name, path in write_bundles().items()]
    translated = cythonize(
        sources,
        include_path=[str(SOURCES)],
        compiler_directives=DIRECTIVES,
        nthreads=0 if IS_WINDOWS else os.cpu_count(),
        quiet=True,
    )
    files = {extension.name.rpartition(".")[2]: Path(extension.sources[0]) for extension in translated}
    flags = WINDOWS if IS_WINDOWS else UNIX
    return [
        Extension(
            f"margin.compiled.{variant}.{name}",
            [str(_copy_for(variant, files[name]))],
            extra_compile_args=[*flags, *FLAGS.get(name, []), *more],
            extra_link_args=SANITIZER if variant == "sanitized" else [],
        )
        for variant, more in variants().items()
        for name in files
        if variant in ("baseline", CHECKED, *WIDE.get(name, ()))
    ]


def _copy_for(variant: str, source: Path) -> Path:
    """The source in a folder of the variant: objects lie where their sources do, and two variants of a module that are
    compiled at once would write into each other's."""
    copy = source.parent / variant / source.name
    if not copy.exists() or not filecmp.cmp(source, copy, shallow=False):
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, copy)
    return copy


class BuildKernels(build_ext):
    """Compiles several modules at once and says in a sentence what is missing."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        if self.inplace:  # the folders of compiled modules hold nothing else, so a clone does not have them
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).parent.mkdir(parents=True, exist_ok=True)
        wanted, self.build_lib = self.build_lib, str(COMPILED)
        try:
            super().run()
            if not self.inplace:
                self._copy_to(Path(wanted))
        except Exception as error:
            raise SystemExit(
                f"Margin's kernels could not be compiled ({error}). They need a C compiler (gcc, clang or MSVC) and "
                "Python's headers; without them install a wheel of Margin, which holds them compiled."
            ) from None
        finally:
            self.build_lib = wanted

    def _copy_to(self, folder: Path) -> None:
        for extension in self.extensions:
            name = self.get_ext_filename(self.get_ext_fullname(extension.name))
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(str(COMPILED / name), str(folder / name))


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernels})
