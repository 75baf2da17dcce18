# SPDX-License-Identifier: Apache-2.0
# Finds the headers of a version of libtorch. `cmake -DLIBTORCH_VERSION=VERSION -P` of this file prints
# their folder; -DLIBTORCH_WHEEL=PLATFORM names the wheel that has them, by pip's name of its platform.
#
# They are searched for in this order: TORCHFEED_LIBTORCH, an installed Python torch of the same
# version, the per-user cache, and a PyTorch wheel downloaded by pip, whose headers are then cached.
include(${CMAKE_CURRENT_LIST_DIR}/UnpackJar.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/UserCache.cmake)

set(TORCHFEED_LIBTORCH "$ENV{TORCHFEED_LIBTORCH}" CACHE PATH "Folder of a libtorch that holds the headers in include/")

function(torchfeed_libtorch_version include_dir result)
  set(${result} "" PARENT_SCOPE)
  set(header "${include_dir}/torch/headeronly/version.h")
  if(NOT EXISTS "${header}")
    set(header "${include_dir}/torch/csrc/api/include/torch/version.h")
  endif()
  if(EXISTS "${header}")
    file(READ "${header}" text)
    if(text MATCHES "TORCH_VERSION[ \t\\]*[\r\n]+[ \t]*\"([0-9.]+)")
      set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(torchfeed_headers_of_python version result)
  set(${result} "" PARENT_SCOPE)
  find_program(TORCHFEED_PYTHON NAMES python3 python)
  if(NOT TORCHFEED_PYTHON)
    return()
  endif()
  execute_process(
    COMMAND
      ${TORCHFEED_PYTHON} -c
      "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE folder
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  if(folder)
    torchfeed_libtorch_version("${folder}/include" found)
    if(found STREQUAL version)
      set(${result} "${folder}/include" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# The headers are the same in every Linux wheel, and the aarch64 one is the smallest.
function(torchfeed_download_headers version platform cache)
  find_program(TORCHFEED_PYTHON NAMES python3 python)
  if(NOT TORCHFEED_PYTHON)
    message(
      FATAL_ERROR
        "Neither the libtorch ${version} headers nor Python 3, which would download them, were found. "
        "Install Python 3 with pip, or set TORCHFEED_LIBTORCH to a libtorch ${version} folder.")
  endif()
  message(NOTICE "torchfeed: downloading the headers of libtorch ${version} once, in a wheel of up to 0.5 GB")
  set(download "${cache}.download")
  file(MAKE_DIRECTORY "${download}")
  execute_process(
    COMMAND
      ${TORCHFEED_PYTHON} -m pip download --quiet --disable-pip-version-check --no-deps
      --only-binary=:all: --platform ${platform} --python-version 3.11
      "torch==${version}" --dest "${download}"
    RESULT_VARIABLE status
    ERROR_VARIABLE error)
  file(GLOB wheel "${download}/torch-${version}*.whl")
  if(NOT status EQUAL 0 OR NOT wheel)
    file(REMOVE_RECURSE "${download}")
    string(STRIP "${error}" error)
    # without the calls of a traceback and repeated tries; CMake keeps the lines of indented text
    string(REGEX REPLACE "\n( |[^\n]*Retry.total=[0-3],)[^\n]*" "" details "\n${error}")
    string(REPLACE "\n" "\n  " details "${details}")
    message(
      FATAL_ERROR
        "pip could not download torch ${version}, whose headers the build needs:${details}\n"
        "Install pip, make its package index reachable and room on the disk, or set TORCHFEED_LIBTORCH "
        "to a libtorch ${version} folder.")
  endif()
  message(NOTICE "torchfeed: unpacking the headers of libtorch ${version}")
  torchfeed_extract("${wheel}" "${download}" "torch/include/*")
  file(REMOVE_RECURSE "${cache}")
  file(RENAME "${download}/torch" "${cache}")
  file(REMOVE_RECURSE "${download}")
endfunction()

function(torchfeed_find_headers version result)
  set(platform manylinux_2_28_aarch64)
  set(folder_name "libtorch-${version}")
  if(ARGN)
    set(platform ${ARGN})
    string(APPEND folder_name "-${platform}")
  endif()
  if(TORCHFEED_LIBTORCH)
    torchfeed_libtorch_version("${TORCHFEED_LIBTORCH}/include" found)
    if(found STREQUAL version)
      set(${result} "${TORCHFEED_LIBTORCH}/include" PARENT_SCOPE)
      return()
    elseif(NOT ARGN) # with a wheel, it may be the folder of the build
      message(
        FATAL_ERROR
          "TORCHFEED_LIBTORCH=${TORCHFEED_LIBTORCH} must hold libtorch ${version} under include/, "
          "found '${found}'.")
    endif()
  endif()
  torchfeed_headers_of_python(${version} headers)
  if(NOT headers)
    torchfeed_user_cache(folder)
    set(cache "${folder}/${folder_name}")
    file(LOCK "${cache}.lock" GUARD FUNCTION TIMEOUT 900)
    torchfeed_libtorch_version("${cache}/include" found)
    if(NOT found STREQUAL version)
      torchfeed_download_headers(${version} ${platform} "${cache}")
    endif()
    set(headers "${cache}/include")
  endif()
  set(${result} "${headers}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  torchfeed_find_headers(${LIBTORCH_VERSION} headers ${LIBTORCH_WHEEL})
  message(NOTICE "headers: ${headers}")
endif()
