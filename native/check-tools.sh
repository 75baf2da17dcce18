#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lists all missing tools of the native build in one message; with --list, only prints a line for each.
missing=
need() {
  command -v "$1" >/dev/null 2>&1 || missing="$missing
  $1: $2"
}
need cmake "install CMake 3.21 or later (Debian: cmake)"
need ninja "install Ninja (Debian: ninja-build)"
if [ -n "$CXX" ]; then
  need "$CXX" "CXX names a compiler that was not found"
elif ! command -v c++ >/dev/null 2>&1; then
  missing="$missing
  c++: install a C++20 compiler, g++ 11 or later (Debian: g++), or set CXX"
fi
need python3 "install Python 3 with pip (Debian: python3-pip); it fetches headers and sorts JNI sources"
if [ "$1" = --list ]; then
  printf '%s' "$missing"
elif [ -n "$missing" ]; then
  printf 'torchfeed: tools that the native build needs were not found:%s\n' "$missing" >&2
  exit 1
fi
