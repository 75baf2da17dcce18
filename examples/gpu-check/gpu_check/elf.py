# SPDX-License-Identifier: Apache-2.0
"""Reads which libraries a shared library needs, without binutils."""

import os
import struct

X86_64 = 62
PT_LOAD = 1
PT_DYNAMIC = 2
DT_NEEDED = 1
DT_STRTAB = 5


class ElfError(Exception):
    """Why a file is no shared library for this machine."""


def needed(path):
    """Returns the names of the libraries that the library of this path needs, in their order."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = file.read(64)
        if header[:4] != b"\x7fELF":
            raise ElfError("it is no ELF file")
        if len(header) < 64 or header[4] != 2 or header[5] != 1:
            raise ElfError("it is no 64-bit library")
        machine, = struct.unpack_from("<H", header, 18)
        if machine != X86_64:
            raise ElfError(f"it is for another kind of processor (ELF machine {machine})")
        start, = struct.unpack_from("<Q", header, 32)
        entry, count = struct.unpack_from("<HH", header, 54)
        segments = []
        for i in range(count):
            kind, _, offset, address, _, length = struct.unpack(
                "<IIQQQQ", _read(file, start + i * entry, 40))
            if offset + length > size:
                raise ElfError(f"it is truncated: {size} bytes of at least {offset + length}")
            segments.append((kind, offset, address, length))
        return _names(file, segments)


def _names(file, segments):
    dynamic = next((s for s in segments if s[0] == PT_DYNAMIC), None)
    if dynamic is None:
        return []
    data = _read(file, dynamic[1], dynamic[3])
    entries = [struct.unpack_from("<qQ", data, at) for at in range(0, len(data) - 15, 16)]
    table = next((value for tag, value in entries if tag == DT_STRTAB), 0)
    for kind, offset, address, length in segments:
        if kind == PT_LOAD and address <= table < address + length:
            place = offset + table - address
            return [_text(file, place + value) for tag, value in entries if tag == DT_NEEDED]
    raise ElfError("its names are outside of its segments")


def _text(file, place):
    return _read(file, place, 1, 256).split(b"\0")[0].decode()


def _read(file, place, at_least, at_most=None):
    file.seek(place)
    data = file.read(at_most or at_least)
    if len(data) < at_least:
        raise ElfError("it is truncated")
    return data
