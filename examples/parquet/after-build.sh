# SPDX-License-Identifier: Apache-2.0
# Sourced by the start scripts, after build.sh.

# Notes the JDK that the build has found, and the class path.
after_build() {
  sed -n 's/.*torchfeed-parquet is built with the JDK [0-9]* in //p' "$target/build.log" >"$target/jdk"
  [ -s "$target/jdk" ] || need "torchfeed-parquet needs a JDK 21 or later: name one by the variable JAVA_HOME_21."
  printf '%s:%s' "$root/java-api/parquet/target/classes" "$(cat "$root/java-api/parquet/target/test-classpath")" >"$target/classpath"
}
