"""Real sets read from the folder that the environment variable MARGIN_DATA names; nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from margin.data.dataset import Dataset
from margin.data.idx import read_idx
from margin.data.reading import read
from margin.data.table import Table

__all__ = ["FILE_TABLES", "FileTable", "data_file", "load_mnist", "load_table"]


def data_file(*parts: str) -> Path:
    """The path of a file below MARGIN_DATA; one sentence when the variable is not set or the file is not there."""
    relative_path = "/".join(parts)
    folder = os.environ.get("MARGIN_DATA")
    if not folder:
        raise FileNotFoundError(f"MARGIN_DATA is not set; set it to the folder that holds {relative_path}.")
    path = Path(folder, *parts)
    if not path.exists():
        raise FileNotFoundError(f"MARGIN_DATA is {folder}, and there is no {relative_path} in it.")
    return path


@dataclass(frozen=True)
class FileTable:
    """Where a table lies and how it is to be understood.

    ``columns`` names the columns of files without a header; ``classes`` maps labels as written to class names, in
    order; a second file, if any, holds the test rows; ``codes`` are numbers that stand for categories; ``omitted``
    columns give the target away or identify rows.
    """

    files: tuple[str, ...]
    target: str
    task: str
    description: str
    columns: tuple[str, ...] | None = None
    classes: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()


def _columns(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_WINE = _columns(
    "fixed_acidity volatile_acidity citric_acid residual_sugar chlorides free_sulfur_dioxide total_sulfur_dioxide"
    " density ph sulphates alcohol quality"
)

FILE_TABLES: dict[str, FileTable] = {
    "abalone": FileTable(
        ("abalone.csv",), "rings", "regression",
        "4177 abalone: number of rings (age less 1.5 years) from sex and seven measurements.",
        _columns("sex length diameter height whole_weight shucked_weight viscera_weight shell_weight rings"),
    ),
    "adult": FileTable(
        ("adult-train.csv", "adult-test.csv"), "income", "classification",
        "48,842 adults of the 1994 census: whether income is above 50,000 dollars; fixed train and test rows.",
        _columns(
            "age workclass fnlwgt education education_num marital_status occupation relationship race sex"
            " capital_gain capital_loss hours_per_week native_country income"
        ),
        # The test file writes a full stop after the label.
        {"<=50K": "<=50K", "<=50K.": "<=50K", ">50K": ">50K", ">50K.": ">50K"},
    ),
    "banknote": FileTable(
        ("banknote_authentication.csv",), "class", "classification",
        "1372 banknotes, genuine or forged, by four statistics of a wavelet transform of their picture.",
        _columns("variance skewness curtosis entropy class"),
        {"0": "class 0", "1": "class 1"},
    ),
    "california-housing": FileTable(
        ("california_housing.csv",), "median_house_value", "regression",
        "20,640 districts of California in 1990: median house value; bedrooms are missing in 207.",
    ),
    "german-credit": FileTable(
        ("german.csv",), "risk", "classification",
        "1000 loans, good or bad, by 20 attributes of the customer, most of them coded categories.",
        _columns(
            "checking_account duration credit_history purpose amount savings employment installment_rate"
            " personal_status other_debtors residence_since property age other_installments housing existing_credits"
            " job dependents telephone foreign_worker risk"
        ),
        {"1": "good", "2": "bad"},
    ),
    "horse-colic": FileTable(
        ("horse-colic.csv",), "surgical_lesion", "classification",
        "300 horses with colic: whether the lesion was surgical; almost a third of the values are missing.",
        _columns(
            "surgery age hospital_number rectal_temperature pulse respiratory_rate temperature_of_extremities"
            " peripheral_pulse mucous_membranes capillary_refill_time pain peristalsis abdominal_distension"
            " nasogastric_tube nasogastric_reflux nasogastric_reflux_ph rectal_examination abdomen packed_cell_volume"
            " total_protein abdominocentesis_appearance abdominocentesis_protein outcome surgical_lesion"
            " lesion_1 lesion_2 lesion_3 cp_data"
        ),
        {"1": "yes", "2": "no"},
        codes=_columns(
            "surgery age temperature_of_extremities peripheral_pulse mucous_membranes capillary_refill_time pain"
            " peristalsis abdominal_distension nasogastric_tube nasogastric_reflux rectal_examination abdomen"
            " abdominocentesis_appearance"
        ),
        omitted=_columns("hospital_number outcome lesion_1 lesion_2 lesion_3 cp_data"),
    ),
    "mammography": FileTable(
        ("mammography.csv",), "class", "classification",
        "11,183 spots on mammograms, 260 of them calcifications, by six measurements.",
        _columns("x1 x2 x3 x4 x5 x6 class"),
        {"-1": "normal", "1": "calcification"},
    ),
    "pima": FileTable(
        ("pima-indians-diabetes.csv",), "diabetes", "classification",
        "768 women of Pima descent: diabetes within five years; zeros in most columns stand for missing values.",
        _columns("pregnancies glucose blood_pressure skin_thickness insulin bmi pedigree age diabetes"),
        {"0": "negative", "1": "positive"},
    ),
    "sonar": FileTable(
        ("sonar.csv",), "object", "classification",
        "208 sonar echoes of mines or rocks by the energy in 60 frequency bands.",
        (*(f"band_{i}" for i in range(1, 61)), "object"),
        {"M": "mine", "R": "rock"},
    ),
    "titanic": FileTable(
        ("titanic.csv",), "Survived", "classification",
        "891 passengers of the Titanic: who survived; ages and most cabins are missing.",
        classes={"0": "died", "1": "survived"},
        omitted=("PassengerId",),
    ),
    "wine-quality-red": FileTable(
        ("winequality-red.csv",), "quality", "regression",
        "1599 red wines of northern Portugal: quality as judged (3 to 8) from 11 measurements.", _WINE,
    ),
    "wine-quality-white": FileTable(
        ("winequality-white.csv",), "quality", "regression",
        "4898 white wines of northern Portugal: quality as judged (3 to 9) from 11 measurements.", _WINE,
    ),
}  # fmt: skip


def load_table(name: str) -> Dataset:
    """One of ``FILE_TABLES``, read from MARGIN_DATA/tables."""
    source = FILE_TABLES[name]
    paths = [data_file("tables", file) for file in source.files]
    parts = [read(path, header=source.columns is None, names=source.columns) for path in paths]
    table = parts[0] if len(parts) == 1 else _stack(parts)
    for code in source.codes:
        table = table.as_kind(code, "category")
    X = table.drop(source.target, *source.omitted)
    y, target_names = _target(table, source)
    numeric = set(X.kinds.values()) == {"number"}
    return Dataset(
        name=name,
        X=np.column_stack([X.columns[column] for column in X.names]) if numeric else X,
        y=y,
        feature_names=X.names,
        target_names=target_names,
        task=source.task,
        description=source.description,
        target=source.target,
        split=_split([part.n_rows for part in parts]) if len(parts) == 2 else None,
    )


def _target(table: Table, source: FileTable) -> tuple[np.ndarray, tuple[str, ...]]:
    if source.task == "regression":
        return table[source.target].copy(), (source.target,)
    classes = tuple(dict.fromkeys(source.classes.values()))
    labels = table.as_kind(source.target, "category")[source.target]
    unknown = sorted({str(label) for label in labels} - set(source.classes))
    if unknown:
        raise ValueError(f"{source.files[0]}: {source.target} holds {unknown[0]!r}, which is not a known class.")
    code = {label: classes.index(name) for label, name in source.classes.items()}
    return np.array([code[label] for label in labels], dtype=np.int64), classes


def _stack(parts: list[Table]) -> Table:
    first = parts[0]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in first.names}
    return Table(columns, first.kinds)


def _split(sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(sizes[0]), np.arange(sizes[0], sum(sizes))


def load_mnist(subset: str = "all") -> Dataset:
    """70,000 handwritten digits of 28 by 28 pixels, float32 in [0, 1]; ``subset`` is "train", "test" or "all"."""
    stems = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}
    if subset not in stems:
        raise ValueError(f"mnist: subset must be 'train', 'test' or 'all'; got {subset!r}.")
    images, labels = [], []
    for stem in stems[subset]:
        images.append(read_idx(_mnist_file(f"{stem}-images-idx3-ubyte")))
        labels.append(read_idx(_mnist_file(f"{stem}-labels-idx1-ubyte")))
        if images[-1].shape != (len(labels[-1]), 28, 28):
            raise ValueError(f"mnist: {stem} has images of shape {images[-1].shape} and {len(labels[-1])} labels.")
    pixels = np.concatenate(images).reshape(-1, 784)
    return Dataset(
        name="mnist",
        X=np.multiply(pixels, np.float32(1 / 255), dtype=np.float32),
        y=np.concatenate(labels).astype(np.int64),
        feature_names=tuple(f"pixel_{i}_{j}" for i in range(28) for j in range(28)),
        target_names=tuple("0123456789"),
        task="classification",
        description="Handwritten digits as gray images of 28 by 28 pixels; 60,000 to train on and 10,000 to test.",
        target="digit",
        image_shape=(28, 28),
        split=_split([len(part) for part in labels]) if subset == "all" else None,
    )


def _mnist_file(name: str) -> Path:
    """The file plain if it is there, else compressed."""
    folder = os.environ.get("MARGIN_DATA")
    if folder and Path(folder, "mnist", name).exists():
        return data_file("mnist", name)
    return data_file("mnist", f"{name}.gz")


def load_sms() -> Dataset:
    """5574 English text messages, each spam or not (ham)."""
    table = read(data_file("text", "sms.tsv"), header=False, names=("label", "message")).as_kind("message", "text")
    X, labels = table.split_target("label")
    return Dataset(
        name="sms-spam",
        X=X,
        y=(labels == "spam").astype(np.int64),
        feature_names=("message",),
        target_names=("ham", "spam"),
        task="classification",
        description=str(load_sms.__doc__),
        target="label",
    )
