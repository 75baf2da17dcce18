# SPDX-License-Identifier: Apache-2.0
# torchfeed_without_paths(target): no folder of the building machine in the library, neither in
# libtorch's assertions nor in debug information, so that all machines make the same one.
function(torchfeed_without_paths target)
  get_filename_component(root "${CMAKE_CURRENT_SOURCE_DIR}/.." ABSOLUTE)
  target_compile_options(
    ${target}
    PRIVATE "-ffile-prefix-map=${LibTorch_INCLUDE_DIR}=libtorch" "-ffile-prefix-map=${root}=torchfeed"
            "-ffile-prefix-map=${CMAKE_CURRENT_BINARY_DIR}=build")
endfunction()
