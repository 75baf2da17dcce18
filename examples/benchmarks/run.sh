# SPDX-License-Identifier: Apache-2.0
# Sourced by the start scripts of this folder, which set `name` (of the command) first: changes to the
# folder, checks that Java and the build are there, and sets `java` and `classpath`.

# Something missing exits with status 1, an invalid option or variable with status 2, each in one line.
need() {
  echo "$name: $1" >&2
  exit 1
}

wrong() {
  echo "$name: $1" >&2
  exit 2
}

cd "$(dirname "$0")"
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
command -v "$java" >/dev/null 2>&1 ||
  need "Java is missing at $java; install a JDK 17 or later, or set JAVA_HOME to one."
[ -f target/classpath ] ||
  need "target/classpath is missing; run mvn verify in the project's folder."
classpath=target/classes:$(cat target/classpath)

# For programs that have no options.
no_arguments() {
  [ $# -eq 0 ] || wrong "no arguments are taken, got $*"
}
