# SPDX-License-Identifier: Apache-2.0
"""Unpacks a part of a zip file, and fails if the disk is full, on which CMake's own command prints a warning.

Usage: unpack.py ZIP_FILE FOLDER PATTERN
"""

import fnmatch
import os
import pathlib
import shutil
import sys
import time
import zipfile


def unpack(archive, folder, pattern):
    """Unpacks the entries whose names match the pattern, with their times."""
    with zipfile.ZipFile(archive) as file:
        entries = [
            entry for entry in file.infolist() if fnmatch.fnmatchcase(entry.filename, pattern) and not entry.is_dir()
        ]
        needed = sum(entry.file_size for entry in entries)
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise OSError(f"No space left on device: {needed / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free")
        for entry in entries:
            path = file.extract(entry, folder)
            seconds = time.mktime((*entry.date_time, 0, 0, -1))
            os.utime(path, (seconds, seconds))


def main():
    archive, folder, pattern = sys.argv[1:]
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        unpack(archive, folder, pattern)
    except (OSError, zipfile.BadZipFile) as error:
        sys.exit(f"{archive} could not be unpacked into {folder}: {error}")


if __name__ == "__main__":
    main()
