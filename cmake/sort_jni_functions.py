# SPDX-License-Identifier: Apache-2.0
"""Copies a JNI source that JavaCPP generated, its functions sorted.

JavaCPP writes them in the order of Java's reflection, which is another one in each JVM, so that the
same sources would make another library. The copy is only touched when it changes.

Usage: sort_jni_functions.py GENERATED COPY
"""

import pathlib
import re
import sys

FUNCTION = re.compile(r"^JNIEXPORT .*?^}\n", re.DOTALL | re.MULTILINE)


def sorted_functions(text):
    functions = list(FUNCTION.finditer(text))
    for before, after in zip(functions, functions[1:]):
        between = text[before.end() : after.start()]
        if between.strip():
            sys.exit(f"sort_jni_functions: cannot move functions over: {between.strip()[:200]}")
    head, tail = text[: functions[0].start()], text[functions[-1].end() :]
    return head + "\n".join(sorted(f.group() for f in functions)) + tail


def main():
    generated, copy = map(pathlib.Path, sys.argv[1:])
    text = sorted_functions(generated.read_text())
    if not copy.exists() or copy.read_text() != text:
        copy.write_text(text)


if __name__ == "__main__":
    main()
