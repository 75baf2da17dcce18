# SPDX-License-Identifier: Apache-2.0
# torchfeed_extract(archive folder pattern): unpacks the entries of a zip file that match the pattern.
function(torchfeed_extract archive folder pattern)
  find_program(TORCHFEED_PYTHON NAMES python3 python REQUIRED)
  execute_process(
    COMMAND ${TORCHFEED_PYTHON} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/unpack.py "${archive}" "${folder}" "${pattern}"
    RESULT_VARIABLE status
    ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    file(REMOVE_RECURSE "${folder}")
    message(FATAL_ERROR "${error}")
  endif()
endfunction()

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
  torchfeed_extract("${jar}" "${folder}" "*/${TORCHFEED_PLATFORM}/*")
  file(WRITE "${stamp_file}" "${jar} ${stamp}")
endfunction()
