# SPDX-License-Identifier: Apache-2.0
# Finds the headers of libtorch, of exactly version LibTorch_FIND_VERSION, and defines the target
# LibTorch::torch, which links with the libraries that PresetLibraries.cmake unpacks.
include(${CMAKE_CURRENT_LIST_DIR}/LibTorchHeaders.cmake)

# Headers found by an earlier run may be gone, or belong to another version.
if(LibTorch_INCLUDE_DIR)
  torchfeed_libtorch_version("${LibTorch_INCLUDE_DIR}" LibTorch_VERSION)
  if(NOT LibTorch_VERSION STREQUAL LibTorch_FIND_VERSION)
    unset(LibTorch_INCLUDE_DIR CACHE)
  endif()
endif()
if(NOT LibTorch_INCLUDE_DIR)
  torchfeed_find_headers(${LibTorch_FIND_VERSION} headers)
  set(LibTorch_INCLUDE_DIR "${headers}" CACHE PATH "Headers of libtorch")
endif()
torchfeed_libtorch_version("${LibTorch_INCLUDE_DIR}" LibTorch_VERSION)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  HANDLE_VERSION_RANGE)

if(LibTorch_FOUND AND NOT TARGET LibTorch::torch)
  include(${CMAKE_CURRENT_LIST_DIR}/PresetLibraries.cmake)
  add_library(LibTorch::torch INTERFACE IMPORTED)
  set_target_properties(
    LibTorch::torch
    PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES
      "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include"
      INTERFACE_LINK_LIBRARIES "LibTorch::cpu;LibTorch::c10")
endif()
