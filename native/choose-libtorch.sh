#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Moves the build of CMake for another libtorch than VERSION to target/libtorch-OTHER, and takes the one
# for VERSION from there, so that neither destroys the other.
# Usage: choose-libtorch.sh VERSION
set -eu
cd "$(dirname "$0")"
built=$(sed -n 's/^TORCHFEED_LIBTORCH_VERSION:[A-Z]*=//p' target/cmake/CMakeCache.txt 2>/dev/null) || exit 0
[ "$built" != "$1" ] || exit 0

# move FROM TO: the folders of CMake, and the sources of JavaCPP that it compiles
move() {
  mkdir -p "$2"
  for folder in cmake asan tsan platform generated-jni; do
    if [ -d "$1/$folder" ]; then
      mv "$1/$folder" "$2/"
    fi
  done
}
move target "target/libtorch-$built"
move "target/libtorch-$1" target
