# SPDX-License-Identifier: Apache-2.0
# Prints the first cause of a failed build from its output: the words of CMake, of the compiler or linker, of
# Ninja, or else of Maven, else the last lines.
function add(line) {
  if (count < limit) {
    cause[++count] = line
  } else {
    open = ""
  }
}

BEGIN { limit = 40 }

{
  sub(/\r$/, "")
  last[NR % 15] = $0
}

# The compiler: what follows a failed step and its command, from the first error on.
open == "step" {
  if (/^\[[0-9]+\/[0-9]+\] / || /^ninja: /) {
    open = ""
  } else if (!isCommand) {
    isCommand = 1
    next
  } else if (/[Ee]rror|undefined reference|No space left/ || sawError) {
    if (!sawError) {
      count = 1 # without the lines before it
      limit = 20
    }
    sawError = 1
    add($0)
    next
  } else {
    add($0)
    next
  }
}

open == "cmake" {
  if (/^Call Stack/ || /^-- / || /^\[(INFO|ERROR|WARNING)\]/ || (isBlank && /^$/)) {
    open = ""
  } else {
    isBlank = /^$/
    add($0)
    next
  }
}

open == "maven" && !/^\[ERROR\]/ { open = "done" }

count && open != "maven" { next }

/^FAILED: / {
  open = "step"
  add(substr($0, 1, 200))
  next
}

/^CMake Error/ {
  open = "cmake"
  add($0)
  next
}

/^ninja: (error|fatal)/ { add($0) }

/^\[WARNING\] .*:\[[0-9]+,[0-9]+\]/ { warning[++warnings] = substr($0, 11) }

/^\[ERROR\] / && open != "done" {
  sub(/^\[ERROR\] +/, "")
  sub(/ -> \[Help.*/, "")
  if (/^(To see the full|Re-run Maven|For more information|After correcting|\[Help)/ || /^\tat /) {
    next
  }
  if (/-Werror specified/ && !areErrors) {
    areErrors = 1
    for (i = 1; i <= warnings; i++) {
      maven[++mavens] = warning[i]
    }
  }
  maven[++mavens] = $0
}

END {
  if (!count) {
    for (i = 1; i <= mavens && i <= 15; i++) {
      add(maven[i])
    }
  }
  if (!count) {
    for (i = NR > 15 ? NR - 14 : 1; i <= NR; i++) {
      add(last[i % 15])
    }
  }
  while (count && cause[count] ~ /^ *$/) {
    count--
  }
  for (i = 1; i <= count; i++) {
    print "  " cause[i]
  }
}
