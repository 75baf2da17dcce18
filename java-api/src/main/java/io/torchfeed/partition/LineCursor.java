// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
  private static final int LONGEST_QUOTE = 1000;

  private final TextPartition plan;
  private final List<ByteRange> ranges;
  private final LineOptions options;
  private final boolean removesReturn;
  private final Newlines newlines = new Newlines();
  private final int[] ends = newlines.ends;
  private byte[] buffer = new byte[0];
  private boolean closed;

  /** The range that is read, and the file in it. */
  private int range = -1;

  private int file;
  private @Nullable TextSource source;

  /** Where the buffer begins in the file's text, and how much of it is text. */
  private long base;

  private int filled;
  private boolean atEndOfFile;

  /** Lines that begin here or later are not ours. */
  private long limit;

  /** Whether the line that holds the first byte belongs to the reader before. */
  private boolean skipsFirst;

  /** Of the newlines found: which lines are ours, and how many of them are delivered. */
  private int lines;

  private int line;
  private int start;
  private int end;

  /** Where the line begins, a byte-order mark included. */
  private int rawStart;

  private int nextStart;

  /** Lines of the open file that were delivered, and where the first of them began. */
  private long delivered;

  private long firstOffset;
  private long linesBeforeFirst;

  LineCursor(TextPartition plan, List<ByteRange> ranges, LineOptions options) {
    this.plan = plan;
    this.ranges = ranges;
    this.options = options;
    removesReturn = options.carriageReturn() == CarriageReturn.REMOVE;
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
    if (line < lines) {
      take(ends[line++]);
      return true;
    }
    return nextFromFile();
  }

  private void take(int newline) {
    int from = nextStart;
    int to = newline;
    rawStart = from;
    nextStart = to + 1;
    if (removesReturn && to > from && buffer[to - 1] == '\r') {
      to--;
    }
    start = from;
    end = to;
    delivered++;
  }

  /** The first line of a file begins behind the byte-order mark of UTF-8, if there is one. */
  private void skipMark() {
    boolean marked =
        base + rawStart == 0
            && end >= 3
            && buffer[0] == (byte) 0xef
            && buffer[1] == (byte) 0xbb
            && buffer[2] == (byte) 0xbf;
    start += marked ? 3 : 0;
  }

  private boolean nextFromFile() {
    if (closed) {
      throw new IllegalStateException("the cursor of " + plan + " is closed");
    }
    while (line == lines) {
      if (source == null) {
        if (!openNext()) {
          return false;
        }
      } else if (base + nextStart >= limit || (atEndOfFile && nextStart == filled)) {
        closeFile();
      } else if (newlines.scanned() < filled) {
        find(newlines.scanned());
      } else if (atEndOfFile) {
        // The last line of a file needs no newline.
        take(filled);
        nextStart = filled;
        skipMark();
        return true;
      } else {
        fill();
      }
    }
    take(newlines.at(line++));
    skipMark();
    return true;
  }

  /** Opens the next file that holds lines of ours. */
  private boolean openNext() {
    while (range < ranges.size()) {
      if (range < 0 || file == plan.files().size() || plan.startOf(file) >= end(range)) {
        range++;
        file = range < ranges.size() ? plan.fileAt(ranges.get(range).start()) : file;
      } else if (holdsLinesOfOurs()) {
        open(ranges.get(range));
        return true;
      } else {
        file++;
      }
    }
    return false;
  }

  /** Whether the file has bytes, and is not a compressed one that begins before the range. */
  private boolean holdsLinesOfOurs() {
    TextFile next = plan.files().get(file);
    return next.bytes() > 0
        && (next.isSplittable() || plan.startOf(file) >= ranges.get(range).start());
  }

  private long end(int at) {
    return ranges.get(at).end();
  }

  private void open(ByteRange bytes) {
    TextFile next = plan.files().get(file);
    long offset = Math.max(0, bytes.start() - plan.startOf(file));
    TextSource opened = TextSource.open(next, options.bufferBytes());
    if (buffer.length == 0) {
      buffer = new byte[options.bufferBytes()];
    }
    source = opened;
    long from = Math.max(0, offset - 1);
    if (next.isSplittable()) {
      limit = Math.min(bytes.end() - plan.startOf(file), next.bytes());
    } else {
      limit = Long.MAX_VALUE;
      from = plan.startOf(file) == bytes.start() ? bytes.textOffset() : 0;
    }
    opened.skipTo(from);
    skipsFirst = offset > 0;
    base = from;
    filled = 0;
    nextStart = 0;
    atEndOfFile = false;
    newlines.clear(0);
    lines = 0;
    line = 0;
    delivered = 0;
    firstOffset = from;
    linesBeforeFirst = offset == 0 && from == 0 ? 0 : -1;
  }

  private void closeFile() {
    TextSource open = requireNonNull(source, "source");
    open.requireAsPlanned();
    source = null;
    open.close();
    file++;
    lines = 0;
    line = 0;
  }

  /** Moves the rest to the front of the buffer and reads on behind it. */
  private void fill() {
    int rest = filled - nextStart;
    if (rest > options.longestLineBytes()) {
      throw tooLong(
          "a line must have %d bytes at most".formatted(options.longestLineBytes()), null);
    }
    boolean isFull = buffer.length - rest < options.bufferBytes() / 2;
    byte[] into = isFull ? longerBuffer(rest) : buffer;
    if (into != buffer || nextStart > 0) {
      System.arraycopy(buffer, nextStart, into, 0, rest);
      buffer = into;
    }
    base += nextStart;
    newlines.clear(rest);
    lines = 0;
    line = 0;
    filled = rest;
    start -= nextStart;
    end -= nextStart;
    rawStart -= nextStart;
    nextStart = 0;
    int read = requireNonNull(source, "source").read(buffer, rest, buffer.length - rest);
    atEndOfFile = read < 0;
    filled += Math.max(0, read);
    find(rest);
  }

  private byte[] longerBuffer(int rest) {
    try {
      int most = LineOptions.MOST_LINE_BYTES + (1 << 15);
      return buffer.length == most ? buffer : new byte[(int) Math.min(most, 2L * buffer.length)];
    } catch (OutOfMemoryError e) {
      throw tooLong(
          "a line of more than %d bytes does not fit the Java heap of %d bytes, raise -Xmx"
              .formatted(rest, Runtime.getRuntime().maxMemory()),
          e);
    }
  }

  private LineException tooLong(String problem, @Nullable Throwable cause) {
    rawStart = nextStart;
    start = nextStart;
    end = filled;
    delivered++;
    LineError error = error(problem + ", got a longer one");
    delivered--;
    return cause == null ? new LineException(error) : new LineException(error, cause);
  }

  /** Finds the ends of lines of ours from {@code from} on. */
  private void find(int from) {
    newlines.find(buffer, from, filled);
    line = 0;
    lines = newlines.count();
    if (skipsFirst) {
      skipFirst();
    }
    if (lines > 0 && base + newlines.at(lines - 1) >= limit) {
      lines = ours();
    }
  }

  private void skipFirst() {
    if (lines > 0) {
      skipsFirst = false;
      nextStart = newlines.at(0) + 1;
      line = 1;
    } else {
      // None of the bytes that were looked at begins a line of ours.
      nextStart = newlines.scanned();
    }
    firstOffset = base + nextStart;
  }

  /** How many of the lines found begin before the limit. */
  private int ours() {
    int mine = line;
    long begin = base + nextStart;
    while (mine < lines && begin < limit) {
      begin = base + newlines.at(mine) + 1;
      mine++;
    }
    return mine;
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
    return start;
  }

  /**
   * Where the line ends in {@link #bytes}.
   *
   * @return the position behind its last byte
   */
  public int end() {
    return end;
  }

  /**
   * The length of the line.
   *
   * @return the number of bytes, at least 0
   */
  public int length() {
    return end - start;
  }

  /**
   * The line as a text of its own.
   *
   * @return the text, with replacement characters where the line is not UTF-8
   */
  public String text() {
    return new String(buffer, start, end - start, UTF_8);
  }

  /**
   * The file that holds the line.
   *
   * @return its path
   * @throws IllegalStateException if all lines are delivered
   */
  public Path path() {
    if (file == plan.files().size()) {
      throw new IllegalStateException("the cursor of " + plan + " is behind the last line");
    }
    return plan.files().get(file).path();
  }

  /**
   * Where the line begins in the text of its file, which in a compressed file is the text unpacked.
   *
   * @return the offset of its first byte, a byte-order mark included
   */
  public long offset() {
    return base + rawStart;
  }

  /**
   * The number of the line in its file. Where reading began in the middle of the file, the first
   * call reads what lies before.
   *
   * @return the number, from 1 on
   * @throws TextFileException if the file is no longer as it was planned, or cannot be read
   */
  public long lineNumber() {
    if (linesBeforeFirst < 0) {
      linesBeforeFirst = newlinesBefore(firstOffset);
    }
    return linesBeforeFirst + delivered;
  }

  private long newlinesBefore(long offset) {
    byte[] bytes = new byte[options.bufferBytes()];
    long count = 0;
    try (TextSource again = TextSource.open(plan.files().get(file), bytes.length)) {
      long left = offset;
      while (left > 0) {
        int read = again.read(bytes, 0, (int) Math.min(left, bytes.length));
        count += Newlines.count(bytes, 0, Math.max(0, read));
        left = read < 0 ? 0 : left - read;
      }
    }
    return count;
  }

  /** An error at the line. */
  LineError error(String problem) {
    int shown = Math.min(end - start, LONGEST_QUOTE);
    String text = new String(buffer, start, shown, UTF_8);
    return new LineError(
        path(), lineNumber(), offset(), shown < end - start ? text + "…" : text, problem);
  }

  /**
   * What is left after the line: a checkpoint of this rank, in constant time.
   *
   * @return the state
   * @throws IllegalStateException if the cursor is closed
   */
  public TextState state() {
    if (closed) {
      throw new IllegalStateException("the cursor of " + plan + " is closed");
    }
    List<ByteRange> rest = new ArrayList<>();
    if (range >= 0 && range < ranges.size()) {
      addRestOfRange(rest);
    }
    for (int i = range + 1; i < ranges.size(); i++) {
      rest.add(ranges.get(i));
    }
    return new TextState(plan.filesDigest(), rest);
  }

  private void addRestOfRange(List<ByteRange> rest) {
    ByteRange whole = ranges.get(range);
    long begin = plan.startOf(file);
    long textOffset = begin == whole.start() ? whole.textOffset() : 0;
    if (source != null && plan.files().get(file).isSplittable()) {
      begin += base + nextStart;
    } else if (source != null) {
      textOffset = base + nextStart;
    }
    // Before its first line a reader looks at the byte before its range.
    begin = Math.max(begin, whole.start());
    if (begin < whole.end()) {
      rest.add(new ByteRange(begin, whole.end(), textOffset));
    }
  }

  /** Closes the file. Silent when it is closed already. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      lines = 0;
      line = 0;
      buffer = new byte[0];
      start = 0;
      end = 0;
      if (source != null) {
        source.close();
        source = null;
      }
    }
  }
}
