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

# Something missing exits with status 1, wrong use with status 2, each in one message.
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

# check_tools PART...: see native/check-tools.sh
check_tools() {
  name=$name sh "$root/native/check-tools.sh" "$@" || exit 1
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

# before_build ARGUMENTS...: succeeds if the program cannot check its arguments itself until it has been
# built, which takes minutes.
before_build() {
  for argument; do
    case $argument in
      -h | --help) return 1 ;;
    esac
  done
  ! is_built
}

# check_options ARGUMENTS...: refuses an option that no program of the example declares.
check_options() {
  known=$(find "$here/src/main" "$root/examples/common/src/main" -name '*.java' -exec cat {} + |
    sed -n 's/.*names = .*"\(--[a-z-]*\)".*/\1/p' | sort -u)
  for argument; do
    case $argument in
      --) return ;;
      --*)
        printf '%s\n' "$known" | grep -qxF -e "${argument%%=*}" ||
          wrong "Unknown option: '${argument%%=*}'; the commands of this example have $(echo "$known" --help | tr '\n' ' ')"
        ;;
    esac
  done
}

# value_of OPTION ARGUMENTS...: prints the last value of an option.
value_of() {
  option=$1
  shift
  value=
  while [ $# -gt 0 ]; do
    case $1 in
      "$option") value=${2:-} ;;
      "$option="*) value=${1#*=} ;;
    esac
    shift
  done
  printf '%s' "$value"
}

# Prints the steps of a build, from the output of Maven, CMake and Ninja, each as soon as it is there: some
# versions of awk and sed read from a pipe only when it holds 4 KB.
show_steps() {
  while IFS= read -r line; do
    step=
    case $line in
      '[INFO] Building torchfeed'*)
        step="building ${line#'[INFO] Building '}"
        step=${step%% [0-9]*}
        ;;
      'Downloading from '*[-/]pytorch-*-linux*.jar | 'Downloading from '*[-/]pytorch-*-macosx*.jar | \
        'Downloading from '*/openblas-*-linux*.jar | 'Downloading from '*/openblas-*-macosx*.jar | \
        'Downloading from '*/leptonica-*-linux*.jar | 'Downloading from '*/leptonica-*-macosx*.jar | \
        'Downloading from '*/cuda-*-linux*.jar | 'Downloading from '*/cuda-*-macosx*.jar)
        step="downloading ${line##*/}"
        ;;
      'torchfeed: '*) step=${line#torchfeed: } ;;
      *' (cmake-build) @ '*) step="compiling the C++ code; its first part takes a minute or more" ;;
      '['[0-9]*/[0-9]*'] '*)
        line=${line%%]*}
        step="compiled ${line#'['}"
        step="${step%/*} of ${step#*/} parts of the C++ code"
        ;;
    esac
    [ -z "$step" ] || echo "$name: $step"
  done
}

# build JAR_FOLDER AFTER MAVEN_OPTIONS...: runs the command AFTER once the jar exists and before the
# build counts as good. Commands of the same checkout build one at a time.
build() {
  jar_folder=$1
  after=$2
  shift 2
  if is_built; then
    check_tools java
    return 0
  fi
  case " $* " in
    *" -Dtorchfeed.native.skip=true "*) check_tools java jdk ;;
    *) check_tools java jdk native ;;
  esac
  mkdir -p "$root/target"
  if has flock; then
    exec 9>"$root/target/examples.lock"
    flock 9
  fi
  if ! is_built; then
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
      echo "$name: the build failed, because of:" >&2
      awk -f "$root/native/first-cause.awk" "$log" >&2
      need "all that the build printed is in $log"
    }
    rm -f "$stamp.built"
    "$after"
    mv -f "$stamp.new" "$stamp"
  fi
  if has flock; then
    exec 9>&-
  fi
}
