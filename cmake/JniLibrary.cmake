# SPDX-License-Identifier: Apache-2.0
# torchfeed_add_jni_library(target folder): adds the JNI library, from the sources that JavaCPP
# generated.
function(torchfeed_add_jni_library target folder)
  find_package(JNI COMPONENTS JVM)
  if(NOT JAVA_INCLUDE_PATH)
    message(FATAL_ERROR "jni.h was not found; set JAVA_HOME to a JDK 17 or later.")
  endif()
  find_program(TORCHFEED_PYTHON python3 REQUIRED)
  set(sources)
  foreach(name IN ITEMS jnijavacpp.cpp ${target}.cpp)
    # JavaCPP rewrites its files each time; a copy that keeps its date saves Ninja from recompiling.
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/jni/${name}")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/jni")
    execute_process(
      COMMAND "${TORCHFEED_PYTHON}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sort_jni_sources.py"
              "${folder}/${name}" "${copy}" COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND sources "${copy}")
  endforeach()
  add_library(${target} MODULE ${sources})
  target_include_directories(${target} SYSTEM PRIVATE ${JAVA_INCLUDE_PATH} ${JAVA_INCLUDE_PATH2})
  target_compile_options(${target} PRIVATE -w) # generated code
  set_target_properties(
    ${target}
    PROPERTIES CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               SUFFIX "${CMAKE_SHARED_LIBRARY_SUFFIX}"
               BUILD_WITH_INSTALL_RPATH ON
               INSTALL_RPATH "${TORCHFEED_OWN_FOLDER}")
  torchfeed_without_paths(${target})
  torchfeed_sanitize(${target})
  torchfeed_precompile(${target} torchfeed)
endfunction()
