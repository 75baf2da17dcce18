# SPDX-License-Identifier: Apache-2.0
"""Writes a table, and what pandas and scikit-learn make of it.

Creates the golden files of tables without using torchfeed. To regenerate them:

    python python_tables.py ../resources/golden/tables

with pandas 3.1.1 and scikit-learn 1.9.1. people.csv has 90 rows, and the first 60 are for the
training; european.csv.gz is the same with semicolons, decimal commas and comments. Each line of
expected.txt is

    <tensor> <numbers in a row> <all rows as float32 or whole numbers>
"""

import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
random = np.random.default_rng(7)
ROWS, TRAINING = 90, 60


def with_gaps(values, share=0.2):
    return pd.Series(values, dtype=object).mask(random.random(ROWS) < share, None)


table = pd.DataFrame({
    "age": with_gaps(random.integers(18, 80, ROWS)),
    "income": with_gaps(random.lognormal(10, 1, ROWS).round(2)),
    "clock": random.normal(1e6, 1, ROWS).round(6),
    "constant": np.full(ROWS, 0.1),
    "tiny": random.normal(0, 1e-200, ROWS),
    "colour": with_gaps(random.choice(["red", "green", "blue", "ﬀ", "😀", "Ärger, \"quoted\""], ROWS)),
    "shop": random.choice([10, 9, 100, -1], ROWS),
    "joined": pd.to_datetime(random.integers(0, 20_000, ROWS), unit="D").strftime("%Y-%m-%d"),
    "seen": pd.to_datetime(random.integers(0, 1_700_000_000, ROWS), unit="s").strftime("%Y-%m-%d %H:%M:%S"),
    "class": random.choice(["no", "yes", "perhaps"], ROWS),
})
table.loc[TRAINING + 3, "colour"] = "violet"
table.loc[TRAINING + 4, "shop"] = 77
table.to_csv(folder / "people.csv", index=False)

read = pd.read_csv(folder / "people.csv", keep_default_na=False, na_values=[""])
lines = [f"# pandas {pd.__version__}, scikit-learn {sklearn.__version__}"]


def line(name, values):
    array = np.asarray(values)
    rows = array.reshape(len(array), -1)
    if rows.dtype.kind == "f":
        text = [np.format_float_scientific(v, unique=True) for v in rows.astype(np.float32).ravel()]
    else:
        text = [str(v) for v in rows.ravel()]
    lines.append(" ".join([name, str(rows.shape[1])] + text))


def fitted(transformer, columns):
    values = read[columns]
    return transformer.fit(values[:TRAINING]).transform(values)


gaps = ["age", "income"]
line("mean", fitted(SimpleImputer(), gaps))
masked = fitted(SimpleImputer(strategy="constant", fill_value=-1.0, add_indicator=True), gaps)
line("masked", masked[:, [0, 2, 1, 3]])
line("standard", fitted(make_pipeline(SimpleImputer(), StandardScaler()), gaps + ["clock", "constant", "tiny"]))
line("zeros", fitted(make_pipeline(SimpleImputer(strategy="constant", fill_value=0.0), StandardScaler()), gaps))

one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
line("colour", fitted(one_hot, ["colour"]))
assert one_hot.categories_[0][-1] is np.nan or pd.isna(one_hot.categories_[0][-1])
known = len(set(read["shop"][:TRAINING]))
ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=known)
line("shop", fitted(ordinal, ["shop"]).astype(int))
line("dummies", pd.get_dummies(read[["class", "shop"]], columns=["class", "shop"]).astype(np.float32))
line("label", pd.Categorical(read["class"]).codes.astype(int))
epoch, day = pd.Timestamp(0), pd.Timedelta("1D")
days = [(pd.to_datetime(read[name]) - epoch) / day for name in ["joined", "seen"]]
line("days", np.stack(days, axis=1))
line("days-standard", StandardScaler().fit(np.stack(days, axis=1)[:TRAINING]).transform(np.stack(days, axis=1)))

european = read[["age", "income", "clock", "class"]].to_csv(
    index=False, sep=";", decimal=",", na_rep="NA", lineterminator="\r\n").split("\r\n")
text = "\ufeff# made by python_tables.py\r\n" + "\r\n".join(european[:20] + ["# in the middle", ""] + european[20:])
with gzip.GzipFile(folder / "european.csv.gz", "wb", mtime=0) as out:
    out.write(text.encode())
same = pd.read_csv(folder / "european.csv.gz", sep=";", decimal=",", comment="#", encoding="utf-8-sig")
assert same["income"].equals(read["income"]) and same["clock"].equals(read["clock"])

(folder / "expected.txt").write_text("\n".join(lines) + "\n")
