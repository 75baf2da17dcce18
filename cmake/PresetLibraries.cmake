# SPDX-License-Identifier: Apache-2.0
# Unpacks the shared libraries of the JavaCPP PyTorch and OpenBLAS presets into the build folder and
# defines them as LibTorch::cpu and LibTorch::c10, so that the facade links with the same libraries
# that the JVM will load. TORCHFEED_LIBTORCH_LIBRARIES replaces them, for C++ programs without a JVM.
include(${CMAKE_CURRENT_LIST_DIR}/UnpackJar.cmake)
set(TORCHFEED_PYTORCH_JAR "" CACHE FILEPATH "Platform jar of the JavaCPP PyTorch presets")
set(TORCHFEED_OPENBLAS_JAR "" CACHE FILEPATH "Platform jar of the JavaCPP OpenBLAS presets")
set(TORCHFEED_LIBTORCH_LIBRARIES "" CACHE PATH "Folder of libtorch's shared libraries, in place of the jars")

if(TORCHFEED_LIBTORCH_LIBRARIES)
  set(TORCHFEED_PYTORCH_LIBRARIES "${TORCHFEED_LIBTORCH_LIBRARIES}")
  set(TORCHFEED_OPENBLAS_LIBRARIES "${TORCHFEED_LIBTORCH_LIBRARIES}")
else()
  set(preset "${CMAKE_BINARY_DIR}/preset")
  torchfeed_unpack("${TORCHFEED_PYTORCH_JAR}" "${preset}/pytorch")
  torchfeed_unpack("${TORCHFEED_OPENBLAS_JAR}" "${preset}/openblas")
  set(TORCHFEED_PYTORCH_LIBRARIES "${preset}/pytorch/org/bytedeco/pytorch/${TORCHFEED_PLATFORM}")
  set(TORCHFEED_OPENBLAS_LIBRARIES "${preset}/openblas/org/bytedeco/openblas/${TORCHFEED_PLATFORM}")
endif()

foreach(name IN ITEMS cpu c10)
  set(file_name "${name}")
  if(name STREQUAL "cpu")
    set(file_name "torch_cpu")
  endif()
  add_library(LibTorch::${name} SHARED IMPORTED)
  set_target_properties(
    LibTorch::${name}
    PROPERTIES
      IMPORTED_LOCATION
      "${TORCHFEED_PYTORCH_LIBRARIES}/${CMAKE_SHARED_LIBRARY_PREFIX}${file_name}${CMAKE_SHARED_LIBRARY_SUFFIX}"
  )
endforeach()
# Their own dependencies (OpenBLAS, OpenMP) are resolved at run time; macOS's linker ignores them.
if(NOT APPLE)
  set_property(TARGET LibTorch::cpu APPEND PROPERTY INTERFACE_LINK_OPTIONS
                                                    "LINKER:--allow-shlib-undefined")
endif()
