#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A CSV file from its text to tensors, for examples/benchmarks/tables.

Arguments: the reader, `pandas` or `pyarrow`, and the file: 12 columns of numbers with gaps, n0 to n11, a category c and a
label y. Gaps are filled with means, numbers are standardized, the category is one-hot, and the label an index, by
scikit-learn. Answers each line of its input by the seconds of reading and of all, and the sum of the features.
"""

import sys
import time

try:
    import numpy
    import pandas
    import torch
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    if sys.argv[1] == "pyarrow":
        from pyarrow import csv
except ImportError as missing:
    print(f"missing {missing}; it needs torch, pandas, pyarrow and scikit-learn")
    sys.exit(1)

reader, path = sys.argv[1:]
NUMBERS = [f"n{i}" for i in range(12)]


def read():
    return pandas.read_csv(path) if reader == "pandas" else csv.read_csv(path).to_pandas()


def main():
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        table = read()
        middle = time.perf_counter()
        features = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS), (OneHotEncoder(sparse_output=False), ["c"])
        )
        x = torch.from_numpy(features.fit_transform(table).astype(numpy.float32))
        torch.from_numpy(OrdinalEncoder().fit_transform(table[["y"]])[:, 0].astype(numpy.int64))
        end = time.perf_counter()
        print(middle - start, end - start, x.abs().double().sum().item(), flush=True)


if __name__ == "__main__":
    main()
