# SPDX-License-Identifier: Apache-2.0
# torchfeed_precompile(target [from]): reads libtorch's headers once, for the target or for all that
# name it as theirs; they are most of what a build costs. Off by default, so that the build that
# ships shows a header that is missing.
option(TORCHFEED_PRECOMPILE "Precompile libtorch's headers" OFF)

function(torchfeed_precompile target)
  if(NOT TORCHFEED_PRECOMPILE)
    return()
  endif()
  if(ARGC GREATER 1)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} PRIVATE <torch/types.h>)
  endif()
endfunction()
