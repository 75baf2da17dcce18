# SPDX-License-Identifier: Apache-2.0
# torchfeed_precompile(target [from]): precompiles libtorch's headers for the target, or reuses
# those of the target `from`; parsing them takes most of the build time. The
# preset asan leaves this off, so that a missing include fails `.ci/sanitizers`.
option(TORCHFEED_PRECOMPILE "Precompile libtorch's headers" OFF)

function(torchfeed_precompile target)
  if(NOT TORCHFEED_PRECOMPILE)
    return()
  endif()
  # GCC reuses them only with the same macros and the same kind of position-independent code.
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(ARGC GREATER 1)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} PRIVATE <torch/types.h>)
  endif()
endfunction()
