#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test files with numpy (2.4.6).

python3 npy_files.py ../resources/golden/npy

Element k of a file is k * 3 % 101, in C order of shape (7, 2, 3). A boolean
element says whether that is odd; a complex one has the imaginary part -k.
"""
import hashlib
import pathlib
import sys

import numpy as np

SHAPE = (7, 2, 3)
DTYPES = "|b1 |u1 |i1 <i2 <i4 <i8 <u2 <u4 <u8 <f2 <f4 <f8 <c8 <c16 >i2 >i4 >u8 >f2 >f4 >f8 >c8".split()


def values(dtype):
    k = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    numbers = k * 3 % 101
    if dtype.kind == "b":
        return (numbers % 2 == 1).astype(dtype)
    if dtype.kind == "c":
        return (numbers - 1j * k).astype(dtype)
    return numbers.astype(dtype)


def arrays():
    floats = values(np.dtype("<f4"))
    named = {name[1:] + "_" + {"<": "little", ">": "big", "|": "byte"}[name[0]]: values(np.dtype(name))
             for name in DTYPES}
    named.update(fortran=np.asfortranarray(floats), big_fortran=np.asfortranarray(values(np.dtype(">i4"))),
                 number=np.float32(-1.5), none=floats[:, :0], row=np.asfortranarray(floats[:1, :1]),
                 column=np.asfortranarray(floats[:, :1, :1]), many=np.arange(20_000, dtype="<i4"))
    return named


def write_arrays(folder):
    named = arrays()
    np.savez(folder / "arrays.npz", **named)
    np.savez_compressed(folder / "compressed.npz", **named)
    np.save(folder / "fortran_column.npy", named["column"])
    np.save(folder / "fortran_row.npy", named["row"])
    np.save(folder / "fortran_none.npy", np.asfortranarray(named["none"]))
    with open(folder.parent / "numpy_files.txt", "w") as out:
        for name, array in named.items():
            plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
            data = plain.tobytes()
            shape = ", ".join(map(str, array.shape))
            print(name, f"[{shape}]", hashlib.sha256(data).hexdigest() if len(data) > 1000 else data.hex(),
                  sep="\t", file=out)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in DTYPES:
        order = {"<": "little", ">": "big", "|": "byte"}[name[0]]
        np.save(folder / f"{order}_{name[1:]}.npy", values(np.dtype(name)))
    floats = values(np.dtype("<f4"))
    for version in (2, 3):
        with open(folder / f"version_{version}.npy", "wb") as file:
            np.lib.format.write_array(file, floats, version=(version, 0))
    np.save(folder / "labels.npy", np.arange(7))
    np.save(folder / "no_rows.npy", floats[:0])
    np.save(folder / "fortran_labels.npy", np.asfortranarray(np.arange(7)))
    np.save(folder / "refused_fortran.npy", np.asfortranarray(floats))
    np.save(folder / "refused_number.npy", np.float32(1))
    np.save(folder / "refused_text.npy", np.array(["a", "bc"]))
    np.save(folder / "refused_time.npy", np.array(["2020-02-20"], dtype="datetime64[D]"))
    np.save(folder / "refused_structured.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4", (2,))]))
    np.save(folder / "refused_object.npy", np.array([None]), allow_pickle=True)
    np.savez(folder / "refused_archive.npz", floats)
    write_arrays(folder)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
