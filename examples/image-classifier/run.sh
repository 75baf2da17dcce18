# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder: runs a command of the program after building it if needed. Set
# before sourcing: `name` (of the command) and `here` (this folder). All arguments are passed to it.

. "$here/../build.sh"

if before_build "$@"; then
  check_options "$@"
  data=$(value_of --data "$@")
  case $name in
    train) parts="train val" ;;
    evaluate) parts=val ;;
    *) parts= ;;
  esac
  [ -z "$parts" ] || [ -n "$data" ] || wrong "--data DIR is needed, a folder with train and val."
  [ -z "$data" ] || [ -d "$data" ] || wrong "--data: there is no folder $data"
  for part in $parts; do
    [ -d "$data/$part" ] || [ -f "$data/$part.records" ] ||
      wrong "--data: the folder $data/$part is missing, and so is $part.records"
  done
  model=$(value_of --model "$@")
  [ -z "$model" ] || [ -f "$model" ] || wrong "--model: there is no file $model"
fi
build examples/image-classifier :
exec "$java" --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC -Xmx256m -cp "$target/image-classifier.jar:$(cat "$target/classpath")" \
  io.torchfeed.examples.images.Main "$name" "$@"
