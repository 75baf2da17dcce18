# SPDX-License-Identifier: Apache-2.0
# torchfeed_unpack(jar folder): unpacks what a platform jar of the JavaCPP presets has for
# TORCHFEED_PLATFORM, unless that was done before.
function(torchfeed_unpack jar folder)
  if(NOT EXISTS "${jar}")
    message(
      FATAL_ERROR
        "The platform jar '${jar}' was not found. Maven passes its path; for a manual build set "
        "TORCHFEED_PYTORCH_JAR, TORCHFEED_OPENBLAS_JAR and TORCHFEED_LEPTONICA_JAR to the jars in the "
        "local repository.")
  endif()
  file(TIMESTAMP "${jar}" stamp)
  set(stamp_file "${folder}/.unpacked")
  if(EXISTS "${stamp_file}")
    file(READ "${stamp_file}" unpacked)
    if(unpacked STREQUAL "${jar} ${stamp}")
      return()
    endif()
  endif()
  get_filename_component(name "${jar}" NAME)
  message(NOTICE "torchfeed: unpacking the libraries in ${name}")
  file(REMOVE_RECURSE "${folder}")
  file(ARCHIVE_EXTRACT INPUT "${jar}" DESTINATION "${folder}" PATTERNS "*/${TORCHFEED_PLATFORM}/*")
  file(WRITE "${stamp_file}" "${jar} ${stamp}")
endfunction()
