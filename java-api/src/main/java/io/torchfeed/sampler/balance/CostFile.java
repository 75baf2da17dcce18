// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.RegularFile;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** A reader of costs from a text file with one cost per line. */
final class CostFile {
  private CostFile() {}

  /** A parser of lines. */
  @FunctionalInterface
  interface Line {
    /**
     * Returns the cost on a line.
     *
     * @throws NumberFormatException if the text is not a number
     * @throws IllegalArgumentException if the number is not a valid cost; the message says why
     */
    long cost(long index, String text);
  }

  static long[] read(Path file, Line line, String kind) {
    RegularFile.require(file);
    // No byte is malformed in this encoding, so a file with other content fails at a given line.
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
      throw new UncheckedIOException(
          "cannot read costs from %s: %s".formatted(file, Failures.reason(e)), e);
    }
  }

  private static long cost(Path file, Line line, String kind, int index, String text) {
    try {
      return line.cost(index, text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "%s, line %d: a line must be %s, got \"%s\""
              .formatted(file, index + 1L, kind, Quotes.shortened(text)),
          e);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "%s, line %d: %s".formatted(file, index + 1L, e.getMessage()), e);
    }
  }

  private static int longer(Path file, int length) {
    if (length == IndexList.MAX_SIZE) {
      throw new IllegalArgumentException(
          "%s must have at most %d lines, got more".formatted(file, IndexList.MAX_SIZE));
    }
    return (int) Math.min(IndexList.MAX_SIZE, 2L * length);
  }
}
