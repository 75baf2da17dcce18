// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.gzip.GzipText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The options for reading lines.
 *
 * @param carriageReturn how to treat a carriage return at the end of a line
 * @param bufferBytes the number of bytes read at once, at least 64; the buffer grows for a longer
 *     line
 * @param maxLineBytes the maximum length of a line in bytes, without its newline, in [1, {@value
 *     #MAX_LINE_BYTES}]
 */
public record LineOptions(CarriageReturn carriageReturn, int bufferBytes, int maxLineBytes) {
  /**
   * The description of a line that breaks a rule.
   *
   * @param path the file that holds it
   * @param lineNumber its number in the file, starting at 1
   * @param offset the offset of its first byte in the file's text
   * @param text the line, or only its beginning if it is long, with replacement characters where it
   *     is not UTF-8
   * @param problem the rule and the value found
   */
  public record LineError(Path path, long lineNumber, long offset, String text, String problem) {
    /**
     * Creates an error.
     *
     * @param path the file that holds the line
     * @param lineNumber its number in the file, starting at 1
     * @param offset the offset of its first byte in the file's text
     * @param text the line
     * @param problem the rule and the value found
     */
    public LineError {
      requireNonNull(path, "path");
      requireNonNull(text, "text");
      requireNonNull(problem, "problem");
    }

    @Override
    public String toString() {
      return "%s, line %d, byte %d: %s, in \"%s\""
          .formatted(path, lineNumber, offset, problem, text);
    }
  }

  /**
   * The maximum length of a line in bytes: it fits in a Java array, with room for the next read.
   */
  public static final int MAX_LINE_BYTES = 0x7fff_0000;

  private static final LineOptions DEFAULTS =
      new LineOptions(CarriageReturn.REMOVE, 1 << 18, 1 << 26);

  /**
   * Creates options.
   *
   * @param carriageReturn how to treat a carriage return at the end of a line
   * @param bufferBytes the number of bytes read at once, at least 64
   * @param maxLineBytes the maximum length of a line in bytes, without its newline, at least 1
   * @throws IllegalArgumentException if an argument is out of range
   */
  public LineOptions {
    requireNonNull(carriageReturn, "carriageReturn");
    if (bufferBytes < 64 || bufferBytes > MAX_LINE_BYTES) {
      throw new IllegalArgumentException(
          "bufferBytes must be in [64, %d], got %d".formatted(MAX_LINE_BYTES, bufferBytes));
    }
    if (maxLineBytes < 1 || maxLineBytes > MAX_LINE_BYTES) {
      throw new IllegalArgumentException(
          "maxLineBytes must be in [1, %d], got %d".formatted(MAX_LINE_BYTES, maxLineBytes));
    }
  }

  /**
   * Returns the default options. Lines of more than 64 MiB are refused, since a compressed file of
   * a few kilobytes may hold a line that fills the heap.
   *
   * @return options that remove one carriage return, read 256 KiB at once, and accept lines of up
   *     to 64 MiB
   */
  public static LineOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns these options with a different size of reads.
   *
   * @param bytes the number of bytes read at once, at least 64; the buffer grows for a longer line
   * @return the options
   * @throws IllegalArgumentException if it is out of range
   */
  public LineOptions withBufferBytes(int bytes) {
    return new LineOptions(carriageReturn, bytes, maxLineBytes);
  }

  /**
   * Returns these options with a different limit on the length of a line.
   *
   * @param bytes the maximum length of a line in bytes, without its newline, in [1, {@value
   *     #MAX_LINE_BYTES}]
   * @return the options
   * @throws IllegalArgumentException if it is out of range
   */
  public LineOptions withMaxLineBytes(int bytes) {
    return new LineOptions(carriageReturn, bufferBytes, bytes);
  }

  /**
   * Returns these options with a different treatment of carriage returns.
   *
   * @param rule how to treat a carriage return at the end of a line
   * @return the options
   */
  public LineOptions withCarriageReturn(CarriageReturn rule) {
    requireNonNull(rule, "rule");
    return new LineOptions(rule, bufferBytes, maxLineBytes);
  }

  /** The compression of a file, determined by the suffix of its name. */
  public enum Compression {
    /** Plain text: the file can be split at any line. */
    NONE,

    /**
     * Names that end in {@code .gz}: readable only from the start, so one rank reads the whole
     * file. Its members are read one after the other. Zero bytes after a member are padding; other
     * bytes that are not a whole member are a {@link TextFileException}, where {@code gzip} warns
     * and ignores them.
     */
    GZIP,

    /**
     * Names that end in {@code .zst} or {@code .zstd}: as {@link #GZIP}. Requires the library
     * {@code com.github.luben:zstd-jni}, which torchfeed does not include.
     */
    ZSTD;

    static Compression of(String name) {
      String lower = name.toLowerCase(Locale.ROOT);
      if (lower.endsWith(".zst") || lower.endsWith(".zstd")) {
        return ZSTD;
      }
      return lower.endsWith(".gz") ? GZIP : NONE;
    }

    /** Returns a decompressing stream; null if the file is not compressed. */
    @Nullable InputStream unpacked(InputStream packed) throws IOException {
      return switch (this) {
        case NONE -> null;
        case GZIP -> new GzipText(packed);
        case ZSTD -> ZstdText.unpacked(packed);
      };
    }
  }

  /** The treatment of a carriage return before the newline. */
  public enum CarriageReturn {
    /**
     * A carriage return at the end of a line is not part of it, so Windows files read like any
     * others.
     */
    REMOVE,

    /** The carriage return is part of the line. */
    KEEP
  }
}
