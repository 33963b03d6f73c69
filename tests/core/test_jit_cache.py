"""Compiled code is kept under a key that follows the text of the kernels it calls."""

from types import ModuleType

from margin.core.jit_cache import sources_key


def module(path, text):
    path.write_text(text, encoding="utf-8")
    made = ModuleType(path.stem)
    made.__file__ = str(path)
    return made


def test_the_key_changes_with_any_text(tmp_path):
    first, second = module(tmp_path / "a.py", "x = 1"), module(tmp_path / "b.py", "y = 2")
    before = sources_key(first, second)
    assert sources_key(first, second) == before
    (tmp_path / "b.py").write_text("y = 3", encoding="utf-8")
    assert sources_key(first, second) != before


def test_a_module_without_a_file_counts_for_nothing(tmp_path):
    known, nowhere = module(tmp_path / "a.py", "x = 1"), ModuleType("nowhere")
    assert sources_key(known, nowhere) == sources_key(known)


def test_growth_names_every_kernel_file_it_calls():
    from margin.trees.boosting import growth_kernels
    from margin.trees.cart import growing_kernels

    for kernels, room in ((growing_kernels, "margin.trees.cart."), (growth_kernels, "margin.trees.boosting.")):
        named = {value.__name__ for value in vars(kernels).values() if isinstance(value, ModuleType)}
        called, waiting = set(), [kernels]
        while waiting:
            for value in vars(waiting.pop()).values():
                home = getattr(getattr(value, "py_func", None), "__module__", "")
                if home.startswith(room) and home != kernels.__name__ and home not in called:
                    called.add(home)
                    waiting.append(__import__(home, fromlist=["_"]))
        assert called
        assert called <= named
