#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the tools that a build needs: one message names all missing ones and the command that installs them.
# Usage: check-tools.sh PART...     the parts are java (to run), jdk (javac and Maven), native, tests=ON
#        check-tools.sh --command   prints the command for all parts, which the README has, too
# `name` is the command that the message is for, OS_RELEASE another file for /etc/os-release.
lines=
packages=

has() {
  command -v "$1" >/dev/null 2>&1
}

# missing PACKAGE LINE: adds to the message; an empty PACKAGE is one that installing does not help.
missing() {
  lines="$lines
  $2"
  case " $packages " in
    *" $1 "*) ;;
    *) packages="$packages${packages:+ }$1" ;;
  esac
}

# Debian's names, which are Ubuntu's, too. The default JDK of Ubuntu 22.04 is 11.
jdk=default-jdk-headless
if grep -qs '=jammy$' "${OS_RELEASE:-/etc/os-release}"; then
  jdk=openjdk-17-jdk-headless
fi
maven=maven
cmake=cmake
ninja=ninja-build
compiler=g++
googletest=libgtest-dev
python=python3-pip

java=java
if [ -n "${JAVA_HOME:-}" ]; then
  java=$JAVA_HOME/bin/java
fi
a_jdk="a JDK 17 or later, not only its runtime, or JAVA_HOME set to one"

find_java() {
  if ! has "$java"; then
    missing "$jdk" "$java: $a_jdk"
    return
  fi
  version=$("$java" -XshowSettings:properties -version 2>&1 |
    sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 17 ] || missing "$jdk" "$java: is version ${version:-unknown}; $a_jdk"
}

find_jdk() {
  if has "$java" && ! has "${java}c"; then
    missing "$jdk" "${java}c: $a_jdk"
  fi
  has mvn || missing "$maven" "mvn: Maven 3.8 or later"
}

find_cmake() {
  if ! has cmake; then
    missing "$cmake" "cmake: CMake 3.21 or later"
    return
  fi
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9]*\.[0-9]*\).*/\1/p')
  version=${version:-4.0}
  if [ "${version%.*}" -lt 3 ] || { [ "${version%.*}" -eq 3 ] && [ "${version#*.}" -lt 21 ]; }; then
    missing '' "cmake: $(command -v cmake) is version $version; CMake 3.21 or later, such as that of \
python3 -m pip install --user cmake"
  fi
}

try_compiler() {
  printf '%s\n' '#include <concepts>' '#if !defined(__clang__) && __GNUC__ < 11' \
    '#error this is a g++ before 11' '#endif' 'template <std::integral T> T same(T x) { return x; }' |
    LC_ALL=C $cxx -std=c++20 -fsyntax-only -x c++ - 2>&1
}

# CXX may hold options, so it is split into words.
# shellcheck disable=SC2086
find_compiler() {
  cxx=${CXX:-c++}
  if ! has ${cxx%% *}; then
    missing "$compiler" "${cxx%% *}: a C++20 compiler, g++ 11 or later, or CXX set to one"
  elif ! words=$(try_compiler); then
    missing "$compiler" "${cxx%% *}: compiles no C++20, for which g++ 11 or later is needed (CXX can name it). It prints:
    $(printf '%s\n' "$words" | grep -m 1 -i error || printf '%s\n' "$words" | sed -n 1p)"
  fi
}

find_python() {
  if ! has python3; then
    missing "$python" "python3: Python 3.9 or later with pip, which fetches headers"
  elif ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1; then
    missing "$python" "python3: $(python3 --version 2>&1) is too old; 3.9 or later with pip, which fetches headers"
  elif ! python3 -m pip --version >/dev/null 2>&1; then
    missing "$python" "python3: its pip, which fetches headers"
  fi
}

find_native() {
  find_cmake
  has ninja || missing "$ninja" "ninja: Ninja"
  find_compiler
  find_python
}

# The variables are those by which CMake finds packages elsewhere.
find_tests() {
  [ -z "${CMAKE_PREFIX_PATH:-}${GTest_ROOT:-}${GTest_DIR:-}${GTEST_ROOT:-}" ] || return 0
  if [ ! -e /usr/include/gtest/gtest.h ] && [ ! -e /usr/local/include/gtest/gtest.h ] &&
    ! printf '#include <gtest/gtest.h>\n' | ${CXX:-c++} -E -x c++ - >/dev/null 2>&1; then
    missing "$googletest" "gtest/gtest.h: GoogleTest 1.12 or later, for the C++ tests"
  fi
}

# install PACKAGE...: prints the command
install() {
  sudo=
  [ "$(id -u)" = 0 ] || sudo='sudo '
  echo "${sudo}apt-get update && ${sudo}apt-get install -y $*"
}

if [ "$1" = --command ]; then
  install "$jdk" "$maven" "$cmake" "$ninja" "$compiler" "$googletest" "$python"
  exit
fi
for part; do
  case $part in
    tests=OFF) ;;
    tests=*) find_tests ;;
    *) "find_$part" ;;
  esac
done
[ -n "$lines" ] || exit 0
{
  printf '%s: tools that the build needs are missing:%s\n' "${name:-torchfeed}" "$lines"
  if [ -n "$packages" ]; then
    if has apt-get; then
      echo "This command installs them:"
    else
      echo "On Debian and Ubuntu this command installs them:"
    fi
    # shellcheck disable=SC2086
    echo "  $(install $packages)"
  fi
} >&2
exit 1
