// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>

// jpeglib.h needs FILE and size_t declared before it.
#include <jpeglib.h>

namespace torchfeed {

/// The head of libjpeg-turbo's private `jpeg_entropy_decoder`, the same in its versions 1.0 to 3.1.
struct EntropyDecoder {
  void (*start_pass)(j_decompress_ptr info);
  boolean (*decode_mcu)(j_decompress_ptr info, JBLOCKROW* blocks);
};

/// Returns the decoder of Huffman codes of an image that has started, if the library is one whose
/// layout is known: headers of the build and the loaded library have such a version, and both
/// functions lie in the library.
///
/// @return null if it is not; the first time, one line on stderr says why
[[nodiscard]] EntropyDecoder* known_entropy(const jpeg_decompress_struct& info);

/// Replaces the loaded library's copyright notice, or no longer if it is null. For tests.
void pretend_jpeg_copyright(const char* copyright);

}  // namespace torchfeed
