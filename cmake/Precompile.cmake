# SPDX-License-Identifier: Apache-2.0
# torchfeed_precompile(target [from]): precompiles libtorch's headers for the target, or reuses
# those of the target `from`; parsing them takes most of the build time. `.ci/check-includes`
# finds sources that lack an include, which this hides.
option(TORCHFEED_PRECOMPILE "Precompile libtorch's headers" OFF)

# torchfeed_unite(target): compiles several sources of the target at a time, which parses their
# headers and loads the precompiled ones once. Names in their anonymous namespaces must differ.
# `.ci/check-includes` finds sources that lack an include of ours, which this hides.
option(TORCHFEED_UNITY "Compile several sources at a time" OFF)

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

function(torchfeed_unite target)
  if(NOT TORCHFEED_UNITY)
    return()
  endif()
  set(united)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(is_alone "${source}" SKIP_UNITY_BUILD_INCLUSION)
    if(NOT is_alone)
      list(APPEND united "${source}")
    endif()
  endforeach()
  set_source_files_properties(${united} PROPERTIES HEADER_FILE_ONLY ON)
  # units of about the same size, so that the last one does not leave processors idle
  list(LENGTH united count)
  math(EXPR units "(${count} + 5) / 6")
  math(EXPR size "(${count} + ${units} - 1) / ${units}")
  # CMake's own units include files by their full paths, so that a compiler cache would serve one clone only.
  foreach(unit RANGE 1 ${units})
    math(EXPR first "(${unit} - 1) * ${size}")
    list(SUBLIST united ${first} ${size} files)
    set(text)
    foreach(file IN LISTS files)
      get_filename_component(file "${file}" ABSOLUTE)
      file(RELATIVE_PATH file "${PROJECT_SOURCE_DIR}" "${file}")
      string(APPEND text "#include \"${file}\"\n")
    endforeach()
    set(path "${CMAKE_CURRENT_BINARY_DIR}/units/${target}_${unit}.cc")
    file(CONFIGURE OUTPUT "${path}" CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE "${path}")
  endforeach()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  # GCC takes a class that is not in the main file for one that several files define.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
