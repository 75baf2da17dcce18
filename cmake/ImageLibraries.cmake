# SPDX-License-Identifier: Apache-2.0
# Unpacks the library of the JavaCPP Leptonica presets and defines it as Leptonica::decoders: it
# contains and exports libjpeg-turbo, libpng, libtiff, libwebp and zlib, whose headers are in the same jar.
include(${CMAKE_CURRENT_LIST_DIR}/UnpackJar.cmake)
include(CheckCXXSymbolExists)

set(TORCHFEED_LEPTONICA_JAR "" CACHE FILEPATH "Platform jar of the JavaCPP Leptonica presets")

set(preset "${CMAKE_BINARY_DIR}/preset")
torchfeed_unpack("${TORCHFEED_LEPTONICA_JAR}" "${preset}/leptonica")
set(TORCHFEED_LEPTONICA_LIBRARIES "${preset}/leptonica/org/bytedeco/leptonica/${TORCHFEED_PLATFORM}")

if(APPLE)
  set(leptonica libleptonica.6.dylib)
else()
  set(leptonica libleptonica.so.6)
endif()
add_library(Leptonica::decoders SHARED IMPORTED)
set_target_properties(
  Leptonica::decoders
  PROPERTIES IMPORTED_LOCATION "${TORCHFEED_LEPTONICA_LIBRARIES}/${leptonica}"
             INTERFACE_INCLUDE_DIRECTORIES "${TORCHFEED_LEPTONICA_LIBRARIES}/include")

# That the library exports its decoders is a habit of the presets, not a promise.
function(torchfeed_require_decoder headers symbol)
  set(CMAKE_REQUIRED_LIBRARIES Leptonica::decoders)
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_symbol_exists(${symbol} "${headers}" TORCHFEED_HAS_${symbol})
  if(NOT TORCHFEED_HAS_${symbol})
    message(
      FATAL_ERROR
        "${TORCHFEED_LEPTONICA_JAR} must contain the headers ${headers} and a library that exports "
        "${symbol}; use the version of org.bytedeco:leptonica that the parent pom names.")
  endif()
endfunction()

torchfeed_require_decoder("cstdio;jpeglib.h" jpeg_mem_src)
torchfeed_require_decoder("cstdio;jpeglib.h" jpeg_crop_scanline)
torchfeed_require_decoder("cstdio;jpeglib.h" jpeg_skip_scanlines)
torchfeed_require_decoder("png.h" png_create_read_struct)
torchfeed_require_decoder("webp/decode.h" WebPDecodeRGBInto)
torchfeed_require_decoder("tiffio.h" TIFFClientOpenExt)
torchfeed_require_decoder("zlib.h" inflate)

# The decoder of Huffman codes takes the place of one in a struct of libjpeg-turbo that its headers do not
# show (jpeg_entropy.h), so its layout is known by version. Another library decodes by itself, more slowly.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES "${TORCHFEED_LEPTONICA_LIBRARIES}/include")
set(CMAKE_REQUIRED_QUIET ON)
check_cxx_source_compiles(
  "#include <cstddef>
  #include <cstdio>
  #include <jpeglib.h>
  static_assert(LIBJPEG_TURBO_VERSION_NUMBER >= 2000000 && LIBJPEG_TURBO_VERSION_NUMBER < 3002000);
  static_assert(sizeof(JBLOCK) == 64 * sizeof(short));
  static_assert(sizeof(jpeg_decompress_struct::entropy) == sizeof(void*));
  int main() { return 0; }"
  TORCHFEED_KNOWN_JPEG)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_QUIET)
if(TORCHFEED_KNOWN_JPEG)
  target_compile_definitions(Leptonica::decoders INTERFACE TORCHFEED_KNOWN_JPEG)
else()
  message(WARNING "${TORCHFEED_LEPTONICA_JAR} must have the headers of libjpeg-turbo 2.0 to 3.1; JPEGs will "
                  "be decoded more slowly, by libjpeg alone.")
endif()
