# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where it is installed, so that another clone, or another branch, compiles only what
# differs. Paths below the clone count as relative; a release is compiled without a cache.
option(TORCHFEED_COMPILER_CACHE "Compile through ccache if it is installed" ON)
find_program(TORCHFEED_CCACHE ccache)
if(TORCHFEED_COMPILER_CACHE AND TORCHFEED_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  get_filename_component(root "${CMAKE_CURRENT_SOURCE_DIR}/.." ABSOLUTE)
  # what ccache needs to know of precompiled headers
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${root}" CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros "${TORCHFEED_CCACHE}")
endif()
