# SPDX-License-Identifier: Apache-2.0
"""Divides a folder into pieces that can be carried one by one."""

import hashlib
import pathlib
import tarfile

PIECE = 60_000_000


class Pieces:
    """A file-like object whose data goes into numbered pieces of at most a number of bytes."""

    def __init__(self, folder, limit=PIECE):
        self.sums = []
        self._folder = pathlib.Path(folder)
        self._limit = limit
        self._file = None
        self._left = 0
        self._sum = None

    def write(self, data):
        """Appends bytes, and begins a piece wherever the last one is full."""
        view = memoryview(data)
        while view:
            if self._left == 0:
                self._begin()
            part = view[:self._left]
            self._file.write(part)
            self._sum.update(part)
            self._left -= len(part)
            view = view[len(part):]
        return len(data)

    def _begin(self):
        self.close()
        self._name = f"piece-{len(self.sums):03d}"
        self._file = open(self._folder / self._name, "wb")
        self._sum = hashlib.sha256()
        self._left = self._limit

    def close(self):
        """Ends the last piece."""
        if self._file is not None:
            self._file.close()
            self.sums.append((self._sum.hexdigest(), self._name))
            self._file = None


def write(content, folder, limit=PIECE):
    """Writes the content of a folder as pieces of a tar file, with their sums in SHA256SUMS.

    Returns the names of the pieces.
    """
    pieces = Pieces(folder, limit)
    with tarfile.open(fileobj=pieces, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(pathlib.Path(content).iterdir()):
            tar.add(path, path.name)
    pieces.close()
    lines = "".join(f"{digest}  {name}\n" for digest, name in pieces.sums)
    (pathlib.Path(folder) / "SHA256SUMS").write_text(lines)
    return [name for _, name in pieces.sums]
