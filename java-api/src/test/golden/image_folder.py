# SPDX-License-Identifier: Apache-2.0
"""Writes resources/golden/image_folder.txt: python3 image_folder.py ../resources/golden/image_folder.txt"""
import pathlib
import sys
import tempfile

from torchvision.datasets.folder import IMG_EXTENSIONS, find_classes, make_dataset

FILES = [
    "b/10.png", "b/2.png", "b/1.PNG", "b/a.JPeg", "b/_.bmp", "b/notes.txt", "b/png", "b/.png",
    "B/x.tif", "B/sub/x.tif", "B/sub-1/x.tif", "B/sub/deep/y.jpg", "B/Sub/z.jpg", "B/a.b.webp",
    "a b/1.pgm", "a-b/1.ppm", "a/1.tiff", "a/é.png", "a/e.png", "a/\U0001f600.png", "a/\uff5e.png",
    "\U0001f600/1.png", "\uff5e/1.png", "été/1.png", "10/1.png", "9/1.png", "loose.png",
]

with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    classes, numbers = find_classes(folder)
    samples = make_dataset(folder, numbers, IMG_EXTENSIONS)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        print("# program java-api/src/test/golden/image_folder.py; torchvision 0.25.0", file=out)
        for name in FILES:
            print("file", name, sep="\t", file=out)
        for name in classes:
            print("class", name, sep="\t", file=out)
        for path, label in samples:
            print("sample", label, pathlib.Path(path).relative_to(root), sep="\t", file=out)
