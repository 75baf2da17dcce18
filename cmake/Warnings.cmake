# SPDX-License-Identifier: Apache-2.0
# torchfeed_strict(target): the warnings that our own files compile without.
function(torchfeed_strict target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Werror)
endfunction()
