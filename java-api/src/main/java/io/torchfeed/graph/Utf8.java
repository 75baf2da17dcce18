// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;

/** A check that ids are UTF-8. */
final class Utf8 {
  private Utf8() {}

  static void require(byte[] bytes, int start, int end) {
    if (!isValid(bytes, start, end)) {
      throw new LineParser.MalformedLineException(
          "an id must be UTF-8, got \"%s\"".formatted(Numbers.quote(bytes, start, end)));
    }
  }

  static boolean isValid(byte[] bytes, int start, int end) {
    int i = start;
    while (i < end && bytes[i] >= 0) {
      i++;
    }
    if (i == end) {
      return true;
    }
    try {
      UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, i, end - i));
      return true;
    } catch (CharacterCodingException e) {
      return false;
    }
  }
}
