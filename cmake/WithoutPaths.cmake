# SPDX-License-Identifier: Apache-2.0
# torchfeed_without_paths(target): keeps paths of the build machine out of the library, both in
# libtorch's assertions and in debug information, so that every machine builds the same library.
function(torchfeed_without_paths target)
  get_filename_component(root "${CMAKE_CURRENT_SOURCE_DIR}/.." ABSOLUTE)
  target_compile_options(
    ${target}
    PRIVATE "-ffile-prefix-map=${LibTorch_INCLUDE_DIR}=libtorch" "-ffile-prefix-map=${root}=torchfeed"
            "-ffile-prefix-map=${CMAKE_CURRENT_BINARY_DIR}=build")
endfunction()
