"""``import margin`` is cheap: heavy libraries are loaded by what needs them."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "rich", "typer")


def modules_after(code):
    listing = f"{code}\nimport sys; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True).stdout.split()
    )


def test_importing_margin_loads_nothing_heavy():
    assert not modules_after("import margin") & set(HEAVY)


@pytest.mark.parametrize(
    "package",
    ["foundations.linalg", "foundations.probability", "optimize", "metrics", "data", "catalog", "notes.atlas"],
)
def test_light_packages_load_neither_torch_nor_sklearn(package):
    assert not modules_after(f"import margin.{package}") & {"torch", "sklearn"}


def test_the_command_line_starts_without_torch_and_sklearn():
    assert not modules_after("import margin.cli") & {"torch", "sklearn", "scipy", "pandas", "numpy", "rich"}


def test_public_names_resolve():
    code = "import margin; margin.save, margin.load, margin.watch, margin.KMeans; assert 'KMeans' in dir(margin)"
    assert "torch" not in modules_after(code)


def test_an_unknown_name_is_an_attribute_error():
    import margin

    with pytest.raises(AttributeError, match="no attribute 'NoSuchModel'"):
        _ = margin.NoSuchModel


def test_the_package_shows_what_it_offers_and_nothing_else():
    import margin

    assert {"compare", "Ridge", "metrics", "optimize"} <= set(margin.__all__)
    assert [name for name in dir(margin) if not name.startswith("__")] == sorted(margin.__all__)
    assert len(margin.__all__) == len(set(margin.__all__))


def test_packages_are_attributes():
    script = "import margin; print(margin.metrics.__name__, margin.optimize.__name__, margin.linear.Ridge.__name__)"
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert found.split() == ["margin.metrics", "margin.optimize", "Ridge"]
