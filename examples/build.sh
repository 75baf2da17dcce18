# SPDX-License-Identifier: Apache-2.0
# Sourced by the examples' start scripts: checks what a build needs, and builds an example when a
# source is newer than its last good build.
# Before it is sourced: `name` (of the command) and `here` (its folder).

root=$(CDPATH='' cd -- "$here/../.." && pwd -P)
target=$here/target
stamp=$target/$name.stamp

need() {
  echo "$name: $1" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

java=java
if [ -n "${JAVA_HOME:-}" ]; then
  java=$JAVA_HOME/bin/java
fi

check_java() {
  has "$java" || need "Java is missing; install a JDK 17 or later, or set JAVA_HOME to one."
  version=$("$java" -XshowSettings:properties -version 2>&1 |
    sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 17 ] ||
    need "JDK 17 or later is needed, $java is version ${version:-unknown}; set JAVA_HOME to a JDK."
}

check_java_tools() {
  if [ -n "${JAVA_HOME:-}" ]; then
    has "$JAVA_HOME/bin/javac" || need "$JAVA_HOME is no JDK (it has no javac); install a JDK."
  else
    has javac || need "javac is missing; install a JDK 17 or later, not only its runtime."
  fi
  has mvn || need "Maven is missing; install Maven 3.8 or later."
}

check_native_tools() {
  has cmake || need "CMake is missing; install CMake 3.21 or later."
  has ninja || need "Ninja is missing; install ninja (package ninja-build)."
  has "${CXX:-c++}" || need "a C++ compiler is missing; install g++ 11 or later, or set CXX."
  has python3 || need "python3 is missing; it fetches libtorch's headers. Install Python 3 with pip."
  python3 -m pip --version >/dev/null 2>&1 ||
    need "pip is missing; it fetches libtorch's headers. Install python3-pip."
}

# Built means: no source is newer than the last good build, and all of its class path is there.
is_built() {
  [ -f "$stamp" ] && [ -f "$target/classpath" ] || return 1
  newer=$(find "$root/pom.xml" "$root/cmake" "$root/native" "$root/java-api" "$here" \
    -name target -prune -o -name runs -prune -o -type f ! -name '*.md' -newer "$stamp" -print | head -n 1)
  [ -z "$newer" ] || return 1
  ( IFS=:
    # shellcheck disable=SC2046
    for entry in $(cat "$target/classpath"); do
      [ -e "$entry" ] || exit 1
    done )
}

# build FOLDER OF THE JAR, AFTER, MAVEN OPTIONS... : AFTER runs once the jar is there, before the
# build counts as good. Two commands of one checkout build one after the other.
build() {
  jar_folder=$1
  after=$2
  shift 2
  check_java
  is_built && return 0
  mkdir -p "$root/target"
  if has flock; then
    exec 9>"$root/target/examples.lock"
    flock 9
  fi
  if ! is_built; then
    check_java_tools
    case " $* " in
      *" -Dtorchfeed.native.skip=true "*) ;;
      *) check_native_tools ;;
    esac
    mkdir -p "$target"
    echo "$name: building (the first time this takes some minutes)" >&2
    # Made before the build, so that a source saved during it counts as newer.
    : >"$stamp.new"
    mvn -q -B -f "$root/pom.xml" -pl "$jar_folder" -am "$@" \
      -DskipTests -Dmaven.test.skip=true -Dtorchfeed.native.tests=OFF \
      -Dspotless.check.skip=true -Dmaven.javadoc.skip=true -Dmaven.source.skip=true \
      package >"$target/$name-build.log" 2>&1 || {
      tail -n 40 "$target/$name-build.log" >&2
      need "the build failed; all of its output is in $target/$name-build.log"
    }
    "$after"
    mv -f "$stamp.new" "$stamp"
  fi
  if has flock; then
    exec 9>&-
  fi
}
