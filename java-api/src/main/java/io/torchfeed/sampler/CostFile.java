// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Reads costs from a text file, one a line. */
final class CostFile {
  private static final int LONGEST_QUOTE = 40;

  private CostFile() {}

  /** What a line says. */
  @FunctionalInterface
  interface Line {
    /**
     * The cost.
     *
     * @throws NumberFormatException if the text is no number
     * @throws IllegalArgumentException if the number is no cost; the message says why
     */
    long cost(long index, String text);
  }

  static long[] read(Path file, Line line, String kind) {
    // No byte is malformed in this encoding, so that a file of other things fails at a line.
    try (BufferedReader reader = Files.newBufferedReader(file, ISO_8859_1)) {
      long[] costs = new long[1024];
      int count = 0;
      for (String text = reader.readLine(); text != null; text = reader.readLine()) {
        if (count == costs.length) {
          costs = Arrays.copyOf(costs, longer(file, count));
        }
        costs[count] = cost(file, line, kind, count, text.strip());
        count++;
      }
      return Arrays.copyOf(costs, count);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read costs from " + file, e);
    }
  }

  private static long cost(Path file, Line line, String kind, int index, String text) {
    try {
      return line.cost(index, text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "%s, line %d: a line must be %s, got \"%s\""
              .formatted(file, index + 1L, kind, shortened(text)),
          e);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "%s, line %d: %s".formatted(file, index + 1L, e.getMessage()), e);
    }
  }

  private static int longer(Path file, int length) {
    if (length == IndexList.LONGEST) {
      throw new IllegalArgumentException(
          "%s must have %d lines at most, got more".formatted(file, IndexList.LONGEST));
    }
    return (int) Math.min(IndexList.LONGEST, 2L * length);
  }

  private static String shortened(String text) {
    return text.length() <= LONGEST_QUOTE ? text : text.substring(0, LONGEST_QUOTE) + "…";
  }
}
