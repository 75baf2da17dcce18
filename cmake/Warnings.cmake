# SPDX-License-Identifier: Apache-2.0
# torchfeed_strict(target): enables strict warnings, as errors, for our own code.
function(torchfeed_strict target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Werror)
endfunction()
