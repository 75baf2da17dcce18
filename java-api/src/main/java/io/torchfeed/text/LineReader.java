// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A reader of one rank's ranges as batches of lines: goes from file to file, reads blocks, and
 * finds the ends of the lines that belong to the rank. Not thread-safe.
 *
 * <p>Line i of a batch begins after the newline at {@code ends[i - 1]} and ends at {@code ends[i]},
 * for i in (first, last].
 */
final class LineReader implements AutoCloseable {
  private static final int MAX_QUOTE = 1000;
  private static final int MARK_BYTES = 3;

  private final FileLayout layout;
  private final List<ByteRange> ranges;
  private final LineOptions options;
  private final Newlines newlines = new Newlines();

  /** The ends of lines, as positions in the buffer; the same array for all batches. */
  final int[] ends = newlines.ends;

  byte[] buffer = new byte[0];

  /** The batch: lines (first, last]; line {@code first} is the last one before it. */
  int first;

  int last;

  /** True if a UTF-8 byte-order mark precedes line 1. */
  boolean isMarked;

  /** The index of the current range; {@link #file} is the current file's. */
  private int range = -1;

  private int file;
  private @Nullable TextSource source;

  /** The offset of the buffer in the file's text; {@link #filled} is the number of bytes in it. */
  private long base;

  private int filled;
  private boolean atEndOfFile;

  /** The position in the buffer of the first byte that is in no batch yet. */
  private int rest;

  /** The offset in the file's text at and after which lines belong to another reader. */
  private long limit;

  /** True if the line that holds the first byte belongs to the preceding reader. */
  private boolean skipsFirst;

  /** The number of lines of the open file in earlier batches. */
  private long before;

  /** The offset at which the first of these lines began. */
  private long firstOffset;

  /** The number of lines of the file before that offset; -1 if it is not known yet. */
  private long linesBeforeFirst;

  LineReader(FileLayout layout, List<ByteRange> ranges, LineOptions options) {
    this.layout = layout;
    this.ranges = ranges;
    this.options = options;
  }

  /** Moves to the next batch, of at least one line; returns whether there is one. */
  boolean advance() {
    before += last - first;
    first = last;
    while (true) {
      if (source == null) {
        if (!openNext()) {
          return false;
        }
      } else if (base + rest >= limit || (atEndOfFile && rest == filled)) {
        closeFile();
      } else if (newlines.scanned() < filled) {
        if (find()) {
          return true;
        }
      } else if (atEndOfFile) {
        // The last line of a file needs no newline.
        ends[0] = rest - 1;
        ends[1] = filled;
        beforeTooLong(0, 1);
        batch(0, 1);
        rest = filled;
        return true;
      } else {
        fill();
      }
    }
  }

  /** Sets the batch to the lines (from, to]. */
  private void batch(int from, int to) {
    first = from;
    last = to;
    isMarked =
        from == 0
            && base + rest == 0
            && ends[1] >= MARK_BYTES
            && buffer[0] == (byte) 0xef
            && buffer[1] == (byte) 0xbb
            && buffer[2] == (byte) 0xbf;
    if (isMarked) {
      ends[0] += MARK_BYTES;
    }
  }

  /** Finds the ends of lines in the next part of the buffer; returns whether any line is ours. */
  private boolean find() {
    newlines.find(buffer, newlines.scanned(), filled);
    int found = newlines.count();
    ends[0] = rest - 1;
    int from = 0;
    if (skipsFirst) {
      // None of the bytes before the first newline begins a line of ours.
      rest = found > 0 ? ends[1] + 1 : newlines.scanned();
      firstOffset = base + rest;
      skipsFirst = found == 0;
      from = Math.min(found, 1);
    }
    int to = found > from && base + ends[found] >= limit ? ours(from, found) : found;
    if (to == from) {
      return false;
    }
    int whole = beforeTooLong(from, to);
    batch(from, whole);
    rest = ends[whole] + 1;
    if (whole < to) {
      newlines.clear(rest); // revisits the long line, as the first of a batch
    }
    return true;
  }

  /** Returns the last line before one that is too long; only the first can exceed a window. */
  private int beforeTooLong(int from, int to) {
    int checked = options.maxLineBytes() < Newlines.WINDOW ? to : from + 1;
    for (int line = from + 1; line <= checked; line++) {
      if (ends[line] - ends[line - 1] - 1 > options.maxLineBytes()) {
        if (line > from + 1) {
          return line - 1;
        }
        throw tooLong(limitRule(), null);
      }
    }
    return to;
  }

  private String limitRule() {
    return ("a line must have at most %d bytes, got a longer one; raise maxLineBytes of the"
            + " LineOptions")
        .formatted(options.maxLineBytes());
  }

  /** Returns the last line found that begins before the limit. */
  private int ours(int from, int found) {
    int to = from;
    while (to < found && base + ends[to] + 1 < limit) {
      to++;
    }
    return to;
  }

  /** Opens the next file that holds lines of ours. */
  private boolean openNext() {
    while (range < ranges.size()) {
      if (range < 0 || file == layout.files().size() || layout.startOf(file) >= end(range)) {
        range++;
        file = range < ranges.size() ? layout.fileAt(ranges.get(range).start()) : file;
      } else if (holdsLinesOfOurs()) {
        open(ranges.get(range));
        return true;
      } else {
        file++;
      }
    }
    return false;
  }

  /**
   * Returns whether the file has bytes and is not a compressed file that begins before the range.
   */
  private boolean holdsLinesOfOurs() {
    TextFile next = layout.files().get(file);
    return next.bytes() > 0
        && (next.isSplittable() || layout.startOf(file) >= ranges.get(range).start());
  }

  private long end(int at) {
    return ranges.get(at).end();
  }

  private void open(ByteRange bytes) {
    TextFile next = layout.files().get(file);
    long offset = Math.max(0, bytes.start() - layout.startOf(file));
    TextSource opened = layout.open(file, options.bufferBytes());
    if (buffer.length == 0) {
      buffer = new byte[options.bufferBytes()];
    }
    source = opened;
    long from = Math.max(0, offset - 1);
    if (next.isSplittable()) {
      limit = Math.min(bytes.end() - layout.startOf(file), next.bytes());
    } else {
      limit = Long.MAX_VALUE;
      from = layout.startOf(file) == bytes.start() ? bytes.textOffset() : 0;
    }
    opened.skipTo(from);
    skipsFirst = offset > 0;
    base = from;
    filled = 0;
    rest = 0;
    atEndOfFile = false;
    newlines.clear(0);
    first = 0;
    last = 0;
    before = 0;
    firstOffset = from;
    linesBeforeFirst = offset == 0 && from == 0 ? 0 : -1;
  }

  private void closeFile() {
    TextSource open = requireNonNull(source, "source");
    open.requireAsPlanned();
    source = null;
    open.close();
    file++;
  }

  /** Moves the rest to the front of the buffer and reads more after it. */
  private void fill() {
    int kept = filled - rest;
    if (kept > options.maxLineBytes()) {
      throw tooLong(limitRule(), null);
    }
    boolean isFull = buffer.length - kept < options.bufferBytes() / 2;
    byte[] into = isFull ? longerBuffer(kept) : buffer;
    if (into != buffer || rest > 0) {
      System.arraycopy(buffer, rest, into, 0, kept);
      buffer = into;
    }
    base += rest;
    newlines.clear(kept);
    filled = kept;
    rest = 0;
    int read = requireNonNull(source, "source").read(buffer, kept, buffer.length - kept);
    atEndOfFile = read < 0;
    filled += Math.max(0, read);
  }

  private byte[] longerBuffer(int kept) {
    try {
      // The longest line and one read after it are enough.
      long needed = (long) options.maxLineBytes() + options.bufferBytes();
      long most = Math.min(LineOptions.MAX_LINE_BYTES + (1 << 15), needed);
      return buffer.length >= most ? buffer : new byte[(int) Math.min(most, 2L * buffer.length)];
    } catch (OutOfMemoryError e) {
      throw tooLong(
          "a line of more than %d bytes does not fit in the Java heap of %d bytes; raise -Xmx"
              .formatted(kept, Runtime.getRuntime().maxMemory()),
          e);
    }
  }

  private LineException tooLong(String problem, @Nullable Throwable cause) {
    LineOptions.LineError error =
        new LineOptions.LineError(
            layout.files().get(file).path(),
            lineNumber(1),
            base + rest,
            quote(rest, filled),
            problem);
    return cause == null ? new LineException(error) : new LineException(error, cause);
  }

  /** Returns the beginning of a line. */
  String quote(int start, int end) {
    int shown = Math.min(end - start, MAX_QUOTE);
    String text = new String(buffer, start, shown, UTF_8);
    return shown < end - start ? text + "…" : text;
  }

  /** Returns the number of a line in its file, given its number after the earlier batches. */
  long lineNumber(long behind) {
    if (linesBeforeFirst < 0) {
      linesBeforeFirst = newlinesBefore(firstOffset);
    }
    return linesBeforeFirst + before + behind;
  }

  private long newlinesBefore(long offset) {
    byte[] bytes = new byte[options.bufferBytes()];
    long count = 0;
    try (TextSource again = layout.open(file, bytes.length)) {
      long left = offset;
      while (left > 0) {
        int read = again.read(bytes, 0, (int) Math.min(left, bytes.length));
        count += Newlines.count(bytes, 0, Math.max(0, read));
        left = read < 0 ? 0 : left - read;
      }
    }
    return count;
  }

  /** Returns the offset in the file's text of a position in the buffer. */
  long offset(int position) {
    return base + position;
  }

  /** Returns the number of the open file; the number of files if all lines have been delivered. */
  int file() {
    return file;
  }

  /** Returns the ranges left after line {@code line} of the batch. */
  List<ByteRange> rest(int line) {
    List<ByteRange> left = new ArrayList<>();
    if (range >= 0 && range < ranges.size()) {
      // The last line of a file may lack a newline; without a batch, only the rest is left.
      addRestOfRange(left, line == last ? rest : ends[line] + 1);
    }
    for (int i = range + 1; i < ranges.size(); i++) {
      left.add(ranges.get(i));
    }
    return left;
  }

  private void addRestOfRange(List<ByteRange> left, int next) {
    ByteRange whole = ranges.get(range);
    long begin = layout.startOf(file);
    long textOffset = begin == whole.start() ? whole.textOffset() : 0;
    if (source != null && layout.files().get(file).isSplittable()) {
      begin += base + next;
    } else if (source != null) {
      textOffset = base + next;
    }
    // To find its first line, a reader starts at the byte before its range.
    begin = Math.max(begin, whole.start());
    if (begin < whole.end()) {
      left.add(new ByteRange(begin, whole.end(), textOffset));
    }
  }

  /** Closes the file and discards the batch. */
  @Override
  public void close() {
    first = 0;
    last = 0;
    buffer = new byte[0];
    if (source != null) {
      source.close();
      source = null;
    }
  }
}
