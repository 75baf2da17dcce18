#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tar files of samples, and the samples that WebDataset reads from them.

python3 image_tars.py ../../../java-api/src/test/resources/golden/images

Needs webdataset 0.2.100, and the pictures of image_rows.py in the folder. Each line of tars.txt is

  sample TAR KEY EXTENSION LABEL FILE   in the order of WebDataset; FILE has the same bytes
"""
import io
import pathlib
import platform
import subprocess
import sys
import tarfile
import tempfile

import webdataset

PICTURES = ["one_pixel.jpg", "444_odd.jpg", "lossy.webp", "grey_2bit.png"]


def add(tar, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def write(path, folder, tar_format, names):
    """Samples with the label before or behind the picture, among members that are no samples."""
    with tarfile.open(path, "w", format=tar_format) as tar:
        directory = tarfile.TarInfo("train")
        directory.type = tarfile.DIRTYPE
        tar.addfile(directory)
        add(tar, "train/README", b"no dot")
        for number, (name, picture) in enumerate(zip(names, PICTURES)):
            extension = pathlib.Path(picture).suffix
            members = [
                (name + extension.upper() if number == 1 else name + extension, (folder / picture).read_bytes()),
                (name + ".cls", b"%d%s" % (number * 7, b"\n" if number % 2 else b"")),
                (name + ".json", b"{}"),
            ]
            for member in reversed(members) if number % 2 else members:
                add(tar, *member)


def write_sparse(folder):
    """Pictures with holes, as GNU's tar writes them, one of so many that its map takes a second block."""
    folder.mkdir(exist_ok=True)
    kinds = {
        "gnu": (["--format=gnu"], 1),
        "extended": (["--format=gnu"], 12),
        **{f"pax_{v.replace('.', '_')}": (["--format=pax", "--sparse-version=" + v], 1) for v in ("0.0", "0.1", "1.0")},
    }
    with tempfile.TemporaryDirectory() as own:
        files = pathlib.Path(own)
        for name, content in (("0.cls", b"1"), ("1.jpg", b"J"), ("1.cls", b"5")):
            (files / name).write_bytes(content)
        for kind, (options, parts) in kinds.items():
            with open(files / "0.jpg", "wb") as picture:
                for part in range(parts):
                    picture.seek(part << 16)
                    picture.write(b"x" * 4096)
                picture.truncate(1 << 20)
            options += ["--owner=0", "--group=0", "--mtime=2026-01-01"]
            tar = ["tar", "-S", *options, "-cf", str(folder / f"sparse_{kind}.tar"), "-C", own]
            subprocess.run([*tar, "0.jpg", "0.cls", "1.jpg", "1.cls"], check=True)


def main(folder):
    write_sparse(folder / "tars")
    long = "a" * 70
    tars = {
        "ustar.tar": (tarfile.USTAR_FORMAT, ["train/0", "train/1", f"{long}/{long}/2", f"{'b' * 70}/{long}/2"]),
        "gnu.tar": (tarfile.GNU_FORMAT, ["./0", "b/1", "c/" + long + long, "a/1"]),
        "pax.tar": (tarfile.PAX_FORMAT, ["x/\u00fc1", long + "/" + long + long, "x/2", "y/2"]),
    }
    contents = {(folder / name).read_bytes(): name for name in PICTURES}
    lines = []
    for tar, (tar_format, names) in tars.items():
        write(folder / tar, folder, tar_format, names)
        for sample in webdataset.WebDataset(str(folder / tar), shardshuffle=False):
            extension = next(key for key in sample if key in ("jpg", "png", "webp"))
            key = sample["__key__"]
            lines.append(f"sample {tar} {key} {extension} {int(sample['cls'])} {contents[sample[extension]]}")
    header = (
        f"# program native/test/golden/image_tars.py; webdataset {webdataset.__version__}, "
        f"Python {platform.python_version()}; arguments none; samples {len(lines)}"
    )
    (folder / "tars.txt").write_text("\n".join([header, *lines]) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
