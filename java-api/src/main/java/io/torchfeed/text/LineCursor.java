// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.OneThread;
import java.nio.file.Path;
import java.util.List;

/**
 * A pass over one rank's lines, as bytes: no object is created per line. One thread at a time uses
 * it; a second one gets an {@link IllegalStateException} at the latest when the buffer is refilled
 * while another thread is inside. Only {@link #close} may be called from any thread. Once the
 * thread that uses the cursor has closed it, every other method throws {@link
 * IllegalStateException}. If another thread closes it, {@link #next} throws at the latest where it
 * refills the buffer, and the methods of a line may still return its old values.
 *
 * <pre>{@code
 * while (lines.next()) {
 *   use(lines.bytes(), lines.start(), lines.length());
 * }
 * }</pre>
 *
 * <p>A line does not include its newline and, unless {@link LineOptions.CarriageReturn#KEEP} is
 * requested, a carriage return before it. A UTF-8 byte-order mark at the start of a file is not
 * part of its first line. The cursor has one buffer, which grows to fit the longest line.
 */
public final class LineCursor implements AutoCloseable {
  private final TextPartition plan;
  private final LineReader reader;
  private final boolean removesReturn;

  /** The reader's array, cached because it is accessed for every line. */
  private final int[] ends;

  private byte[] buffer;

  /** The current line of the batch; {@link #last} is the last one. */
  private int line;

  private int last;
  private volatile boolean closed;
  private final OneThread user;

  LineCursor(TextPartition plan, List<ByteRange> ranges, LineOptions options) {
    this.plan = plan;
    user = new OneThread("the cursor of " + plan);
    reader = new LineReader(plan.layout(), ranges, options);
    removesReturn = options.carriageReturn() == LineOptions.CarriageReturn.REMOVE;
    ends = reader.ends;
    buffer = reader.buffer;
  }

  /**
   * Moves to the next line.
   *
   * @return whether there is one
   * @throws TextFileException if a file has changed since it was planned, or cannot be read
   * @throws LineException if the line is too long for the options or for the Java heap
   * @throws IllegalStateException if the cursor is closed, or another thread uses it
   */
  public boolean next() {
    if (line < last) {
      line++;
      return true;
    }
    return nextOfReader();
  }

  private boolean nextOfReader() {
    enter();
    try {
      if (!reader.advance()) {
        return false;
      }
      buffer = reader.buffer;
      last = reader.last;
      line = reader.first + 1;
      return true;
    } finally {
      exit();
    }
  }

  private void enter() {
    requireOpen();
    user.enter();
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the cursor of " + plan + " is closed");
    }
  }

  /** Returns whether there is a line; closing takes it away, so those with one need no check. */
  private boolean hasLine() {
    if (line > 0) {
      return true;
    }
    requireOpen();
    return false;
  }

  private void exit() {
    user.exit();
    if (closed) {
      release(); // closed by another thread in the meantime
    }
  }

  /**
   * Returns the array that holds the line. It is valid until the next call of {@link #next} and
   * must not be modified.
   *
   * @return the array
   */
  public byte[] bytes() {
    if (line == 0) {
      requireOpen();
    }
    return buffer;
  }

  /**
   * Returns the position in {@link #bytes} at which the line begins.
   *
   * @return the position of its first byte
   */
  public int start() {
    return hasLine() ? ends[line - 1] + 1 : 0;
  }

  /**
   * Returns the position in {@link #bytes} at which the line ends.
   *
   * @return the position after its last byte
   */
  public int end() {
    if (!hasLine()) {
      return 0;
    }
    int end = ends[line];
    boolean hasReturn = removesReturn && end > ends[line - 1] + 1 && buffer[end - 1] == '\r';
    return hasReturn ? end - 1 : end;
  }

  /**
   * Returns the length of the line.
   *
   * @return the number of bytes, at least 0
   */
  public int length() {
    return end() - start();
  }

  /**
   * Returns the line as a string.
   *
   * @return the string, with replacement characters where the line is not UTF-8
   */
  public String text() {
    try {
      return new String(buffer, start(), length(), UTF_8);
    } catch (IndexOutOfBoundsException e) {
      throw user.misuse(e); // another thread has moved the cursor
    }
  }

  /**
   * Returns the path of the file that holds the line.
   *
   * @return the path
   * @throws IllegalStateException if all lines have been delivered, or the cursor is closed
   */
  public Path path() {
    requireOpen();
    if (reader.file() == plan.files().size()) {
      throw new IllegalStateException("the cursor of " + plan + " is past the last line");
    }
    return plan.files().get(reader.file()).path();
  }

  /**
   * Returns the offset of the line in the text of its file; for a compressed file, in the
   * decompressed text.
   *
   * @return the offset of its first byte, counting a byte-order mark
   */
  public long offset() {
    return line == 1 && reader.isMarked ? 0 : reader.offset(start());
  }

  /**
   * Returns the number of the line in its file. If reading began in the middle of the file, the
   * first call reads the part before it.
   *
   * @return the number, starting at 1
   * @throws TextFileException if the file has changed since it was planned, or cannot be read
   */
  public long lineNumber() {
    requireOpen();
    return reader.lineNumber(line - reader.first);
  }

  /**
   * Returns an error at the line.
   *
   * @param problem the rule that the line breaks
   * @return the error, which names the place and quotes the line
   * @throws TextFileException if the file has changed since it was planned, or cannot be read
   */
  public LineOptions.LineError error(String problem) {
    return new LineOptions.LineError(
        path(), lineNumber(), offset(), reader.quote(start(), end()), problem);
  }

  /**
   * Returns the ranges left after the line: a checkpoint of this rank, taken in constant time.
   *
   * @return the state
   * @throws IllegalStateException if the cursor is closed
   */
  public TextState state() {
    enter();
    try {
      return new TextState(plan.layout().digest(), reader.rest(line));
    } finally {
      exit();
    }
  }

  /**
   * Closes the file, or lets a thread that is inside close it when it leaves. Closing a closed
   * cursor has no effect.
   */
  @Override
  public void close() {
    closed = true;
    release();
  }

  private void release() {
    if (user.tryEnter()) {
      line = 0;
      last = 0;
      reader.close();
      buffer = reader.buffer;
      user.exit();
    }
  }
}
