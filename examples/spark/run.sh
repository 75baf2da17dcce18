# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder: runs a program with Spark in this machine's JVM, without an
# installation of Spark, after building it if needed. Set before sourcing: `name` (of the command),
# `main` (its class) and `here` (this folder); optional are `master` (of Spark) and `core` (the only one
# to use). All arguments are passed to the program.

uses=$here/../mnist-ddp
. "$here/../build.sh"

if before_build "$@"; then
  check_options "$@"
fi
build examples/spark :

opens=$(sed -n 's:.*<torchfeed.spark.opens>\(.*\)</torchfeed.spark.opens>.*:\1:p' "$here/pom.xml")
export SPARK_LOCAL_IP=127.0.0.1 OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
case " $* " in
  *" --master"*) ;;
  *) set -- --master "${master:-local[2]}" "$@" ;;
esac
pin=
if [ -n "${core:-}" ] && has taskset; then # on Linux
  pin="taskset -c $core"
fi
# shellcheck disable=SC2086 # lists of options
exec $pin "$java" --enable-native-access=ALL-UNNAMED -Xmx1g "-Dlog4j2.configurationFile=$here/log4j2.properties" $opens -cp "$target/spark.jar:$(cat "$target/classpath")" \
  "io.torchfeed.examples.spark.$main" "$@"
