// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The numbers of dimensions of a compiled model's inputs. Its library compares each size and stride
 * that it expects, but not their number: with more or fewer it would read other memory. The texts
 * of its errors name all of them.
 */
final class InputDimensions {
  private static final String BEGIN = "input_handles[";
  private static final Pattern TEXT =
      Pattern.compile(
          "input_handles\\[(\\d{1,9})]: "
              + "(?:unmatched dtype|unmatched (?:dim|stride) value at (\\d{1,9}))");
  private static final int CHUNK = 1 << 20;
  private static final int MAX_TEXT = 100;

  private final Map<Integer, Integer> dimensions = new HashMap<>();

  private InputDimensions() {}

  /** Reads the texts of a library. */
  static InputDimensions in(Path library) throws IOException {
    InputDimensions found = new InputDimensions();
    byte[] bytes = new byte[MAX_TEXT + CHUNK];
    int kept = 0;
    try (InputStream in = Files.newInputStream(library)) {
      int read;
      while ((read = in.readNBytes(bytes, kept, CHUNK)) > 0) {
        int end = kept + read;
        found.take(new String(bytes, 0, end, StandardCharsets.ISO_8859_1));
        kept = Math.min(end, MAX_TEXT); // a text may continue in the next chunk
        System.arraycopy(bytes, end - kept, bytes, 0, kept);
      }
    }
    return found;
  }

  private void take(String chunk) {
    Matcher text = TEXT.matcher(chunk);
    for (int at = chunk.indexOf(BEGIN); at >= 0; at = chunk.indexOf(BEGIN, at + 1)) {
      text.region(at, Math.min(chunk.length(), at + MAX_TEXT));
      if (text.lookingAt()) {
        int count = text.group(2) == null ? 0 : Integer.parseInt(text.group(2)) + 1;
        dimensions.merge(Integer.parseInt(text.group(1)), count, Math::max);
      }
    }
  }

  /** Returns the dimensions of an input, unless the library names none. */
  OptionalInt of(int input) {
    Integer count = dimensions.get(input);
    return count == null ? OptionalInt.empty() : OptionalInt.of(count);
  }
}
