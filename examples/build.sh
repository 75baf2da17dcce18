# SPDX-License-Identifier: Apache-2.0
# Sourced by the examples' start scripts: checks the tools that a build needs, and builds an example
# when a source is newer than its last good build, whichever of its scripts made that.
# Set before sourcing: `name` (of the command) and `here` (its folder); optional is `uses`, the folder
# of another example whose classes it uses.

root=$(CDPATH='' cd -- "$here/../.." && pwd -P)
target=$here/target
stamp=$target/build.stamp

need() {
  echo "$name: $1" >&2
  exit 1
}

# Something missing exits with status 1, wrong use with status 2, each in one line.
wrong() {
  echo "$name: $1" >&2
  exit 2
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
    has "$JAVA_HOME/bin/javac" || need "$JAVA_HOME is not a JDK (it has no javac); install a JDK."
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

# Succeeds if no source is newer than the last good build and its whole class path exists.
is_built() {
  [ -f "$stamp" ] && [ -f "$target/classpath" ] || return 1
  newer=$(find "$root/pom.xml" "$root/cmake" "$root/native" "$root/java-api" "$root/examples/pom.xml" "$root/examples/common" \
    "$here" ${uses:+"$uses"} \
    -name target -prune -o -name runs -prune -o -type f ! -name '*.md' -newer "$stamp" -print | head -n 1)
  [ -z "$newer" ] || return 1
  ( IFS=:
    # shellcheck disable=SC2046
    for entry in $(cat "$target/classpath"); do
      [ -e "$entry" ] || exit 1
    done )
}

# Prints the steps of a build, from the output of Maven, CMake and Ninja.
show_steps() {
  awk -v name="$name" '
    function step(text) { print name ": " text; fflush() }
    sub(/^\[INFO\] Building torchfeed/, "torchfeed") {
      sub(/ [0-9][^ ]*( +\[.*)?$/, "")
      step("building " $0)
      next
    }
    /Downloading from .*(pytorch|openblas|leptonica|cuda)[^\/]*-(linux|macosx)[^\/]*\.jar$/ {
      sub(/.*\//, ""); step("downloading " $0)
    }
    sub(/^torchfeed: /, "") { step($0) }
    /^\[[0-9]+\/[0-9]+\] / {
      split($1, at, /[][\/]/)
      if (at[2] % 10 == 0 || at[2] == at[3]) step("compiled " at[2] " of " at[3] " parts of the C++ code")
    }'
}

# build JAR_FOLDER AFTER MAVEN_OPTIONS...: runs the command AFTER once the jar exists and before the
# build counts as good. Commands of the same checkout build one at a time.
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
    echo "$name: building (takes a few minutes the first time)" >&2
    log=$target/build.log
    # Created before the build, so that a source saved during it counts as newer.
    : >"$stamp.new"
    rm -f "$stamp.built"
    { mvn -B -f "$root/pom.xml" -pl "$jar_folder" -am "$@" \
      -DskipTests -Dmaven.test.skip=true -Dtorchfeed.native.tests=OFF \
      -Dspotless.check.skip=true -Dmaven.javadoc.skip=true -Dmaven.source.skip=true \
      package 2>&1 && : >"$stamp.built"; } | tee "$log" | show_steps >&2
    [ -f "$stamp.built" ] || {
      tail -n 40 "$log" >&2
      need "the build failed; its full output is in $log"
    }
    rm -f "$stamp.built"
    "$after"
    mv -f "$stamp.new" "$stamp"
  fi
  if has flock; then
    exec 9>&-
  fi
}
