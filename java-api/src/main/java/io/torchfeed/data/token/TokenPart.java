// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import io.torchfeed.memory.DType;
import java.nio.file.Path;

/** The tokens of one file. */
record TokenPart(Path path, DType dtype, long offsetBytes, long tokens) {
  /** Returns the position of a token in the file. */
  long position(long token) {
    return offsetBytes + token * dtype.bytes();
  }
}
