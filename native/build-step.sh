#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command of the native build. If it fails, its first cause is repeated at the end, after all that a build on
# several processors prints once one of its commands has failed.
# Usage: build-step.sh COMMAND [ARGUMENT...]
exec 3>&1
log=$(
  { "$@" 2>&1; echo "build-step: status $?"; } | while IFS= read -r line; do
    case $line in
      'build-step: status '*) ;;
      *) printf '%s\n' "$line" >&3 ;; # each as soon as it is there
    esac
    printf '%s\n' "$line"
  done
)
status=${log##*build-step: status }
if [ "$status" != 0 ]; then
  echo "$1 failed, because of:" >&2
  printf '%s\n' "${log%build-step: status *}" | awk -f "$(dirname "$0")/first-cause.awk" >&2
fi
exit "$status"
