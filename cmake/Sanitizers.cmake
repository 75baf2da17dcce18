# SPDX-License-Identifier: Apache-2.0
# torchfeed_sanitize(target): instruments the target with the sanitizers in TORCHFEED_SANITIZER.
set(TORCHFEED_SANITIZER "" CACHE STRING "Sanitizers, as in -fsanitize=; empty for none")

function(torchfeed_sanitize target)
  if(TORCHFEED_SANITIZER)
    target_compile_options(${target} PRIVATE -fsanitize=${TORCHFEED_SANITIZER}
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all
                                             -Wno-maybe-uninitialized) # false positives under instrumentation
    target_link_options(${target} PRIVATE -fsanitize=${TORCHFEED_SANITIZER})
    # A header of 2.13 has a fence for objects of Python, of which there are none here.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TORCHFEED_LIBTORCH_VERSION VERSION_GREATER_EQUAL 2.13)
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
  endif()
endfunction()

# torchfeed_hasten(target): compiles an instrumented target without optimization, for targets whose work libtorch does:
# that takes a quarter to a third less time. Headers are precompiled with the same option.
function(torchfeed_hasten target)
  if(TORCHFEED_SANITIZER)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()
