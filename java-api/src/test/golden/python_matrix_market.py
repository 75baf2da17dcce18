# SPDX-License-Identifier: Apache-2.0
"""Writes Matrix Market files with scipy, and the entries that scipy reads from them.

Creates the golden files of matrices without using torchfeed. To regenerate them:

    python python_matrix_market.py ../resources/golden/matrix-market

with scipy 1.17.1 and numpy 2.4.6. Each line of expected.txt is the name of a file, a row, a column
(from 1, as in the files) and a value; entries of symmetric matrices that a file leaves out are in
it. Files that end in -odd are edited by hand: blanks, comments, blank lines, letters of the head.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
import scipy
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_array, random_array

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
rng = np.random.default_rng(5)
whole = coo_array(np.triu(rng.integers(-3, 9, (9, 9)) * (rng.random((9, 9)) < 0.3)))
real = random_array((40, 25), density=0.08, rng=rng, format="coo")
square = random_array((30, 30), density=0.05, rng=rng, format="coo")
mmwrite(folder / "real.mtx", real, comment=" of 40 rows\n and 25 columns", symmetry="general")
mmwrite(folder / "integer.mtx", whole, field="integer", symmetry="general")
mmwrite(folder / "pattern.mtx", real, field="pattern", symmetry="general")
diagonal = coo_array(([2.5, -1.0], ([0, 7], [0, 7])), shape=(30, 30))
mmwrite(folder / "symmetric.mtx", square + square.T + diagonal, symmetry="symmetric")
mmwrite(folder / "skew.mtx", square - square.T, symmetry="skew-symmetric")
mmwrite(folder / "undirected.mtx", square + square.T, field="pattern", symmetry="symmetric")
mmwrite(folder / "empty.mtx", coo_array((4, 3)), symmetry="general")
(folder / "blanks-odd.mtx").write_text(
    "%%MatrixMarket  MATRIX Coordinate Real General \n%\n% 1 1 1\n\n  5   4\t3  \n\n"
    " 1  1  -1.5e-3\n5\t4\t1E+2\r\n\n3 2 7"
)
(folder / "packed.mtx.gz").write_bytes(gzip.compress((folder / "symmetric.mtx").read_bytes(), mtime=0))
with open(folder / "expected.txt", "w") as out:
    for file in sorted(folder.glob("*.mtx*")):
        matrix = mmread(file).tocoo()
        for row, column, value in sorted(zip(matrix.row, matrix.col, matrix.data)):
            out.write(f"{file.name} {row + 1} {column + 1} {float(value)!r}\n")
print(scipy.__version__, np.__version__)
