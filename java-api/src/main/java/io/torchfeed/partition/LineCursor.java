// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Path;
import java.util.List;

/**
 * One pass over one rank's lines, as bytes: no object is made for a line. Not thread-safe.
 *
 * <pre>{@code
 * while (lines.next()) {
 *   use(lines.bytes(), lines.start(), lines.length());
 * }
 * }</pre>
 *
 * <p>A line has no newline at its end and, unless {@link CarriageReturn#KEEP} is asked for, no
 * carriage return before that. The UTF-8 byte-order mark at the start of a file is not part of its
 * first line. Holds one buffer, which grows to the longest line.
 */
public final class LineCursor implements AutoCloseable {
  private final TextPartition plan;
  private final LineReader reader;
  private final boolean removesReturn;

  /** As in the reader, for the path of each line. */
  private final int[] ends;

  private byte[] buffer;

  /** The line of the batch, and its last one. */
  private int line;

  private int last;
  private boolean closed;

  LineCursor(TextPartition plan, List<ByteRange> ranges, LineOptions options) {
    this.plan = plan;
    reader = new LineReader(plan, ranges, options);
    removesReturn = options.carriageReturn() == CarriageReturn.REMOVE;
    ends = reader.ends;
    buffer = reader.buffer;
  }

  /**
   * Goes to the next line.
   *
   * @return whether there is one
   * @throws TextFileException if a file is no longer as it was planned, or cannot be read
   * @throws LineException if the line is too long for the options or for the Java heap
   * @throws IllegalStateException if the cursor is closed
   */
  public boolean next() {
    if (line < last) {
      line++;
      return true;
    }
    return nextOfReader();
  }

  private boolean nextOfReader() {
    requireOpen();
    if (!reader.advance()) {
      return false;
    }
    buffer = reader.buffer;
    last = reader.last;
    line = reader.first + 1;
    return true;
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the cursor of " + plan + " is closed");
    }
  }

  /**
   * The array that holds the line. A view, valid until the next call of {@link #next}; do not
   * change it.
   *
   * @return the array
   */
  public byte[] bytes() {
    return buffer;
  }

  /**
   * Where the line begins in {@link #bytes}.
   *
   * @return the position of its first byte
   */
  public int start() {
    return line == 0 ? 0 : ends[line - 1] + 1;
  }

  /**
   * Where the line ends in {@link #bytes}.
   *
   * @return the position behind its last byte
   */
  public int end() {
    if (line == 0) {
      return 0;
    }
    int end = ends[line];
    boolean hasReturn = removesReturn && end > ends[line - 1] + 1 && buffer[end - 1] == '\r';
    return hasReturn ? end - 1 : end;
  }

  /**
   * The length of the line.
   *
   * @return the number of bytes, at least 0
   */
  public int length() {
    return end() - start();
  }

  /**
   * The line as a text of its own.
   *
   * @return the text, with replacement characters where the line is not UTF-8
   */
  public String text() {
    return new String(buffer, start(), length(), UTF_8);
  }

  /**
   * The file that holds the line.
   *
   * @return its path
   * @throws IllegalStateException if all lines are delivered
   */
  public Path path() {
    if (reader.file() == plan.files().size()) {
      throw new IllegalStateException("the cursor of " + plan + " is behind the last line");
    }
    return plan.files().get(reader.file()).path();
  }

  /**
   * Where the line begins in the text of its file, which in a compressed file is the text unpacked.
   *
   * @return the offset of its first byte, a byte-order mark included
   */
  public long offset() {
    return line == 1 && reader.isMarked ? 0 : reader.offset(start());
  }

  /**
   * The number of the line in its file. Where reading began in the middle of the file, the first
   * call reads what lies before.
   *
   * @return the number, from 1 on
   * @throws TextFileException if the file is no longer as it was planned, or cannot be read
   */
  public long lineNumber() {
    return reader.lineNumber(line - reader.first);
  }

  /** An error at the line. */
  LineError error(String problem) {
    return new LineError(path(), lineNumber(), offset(), reader.quote(start(), end()), problem);
  }

  /**
   * What is left after the line: a checkpoint of this rank, in constant time.
   *
   * @return the state
   * @throws IllegalStateException if the cursor is closed
   */
  public TextState state() {
    requireOpen();
    return new TextState(plan.filesDigest(), reader.rest(line));
  }

  /** Closes the file. Silent when it is closed already. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      line = 0;
      last = 0;
      reader.close();
      buffer = reader.buffer;
    }
  }
}
