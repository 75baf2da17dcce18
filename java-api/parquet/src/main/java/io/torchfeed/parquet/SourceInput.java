// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.InputFile;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.storage.ByteSource;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A {@link ByteSource} as a file of Hardwood's. A local file is read, not mapped: truncating a
 * mapped one kills the JVM.
 */
final class SourceInput implements InputFile {
  private static final int PIECE = 1 << 20;
  private static final int TAIL = 8;

  private final String name;
  private final @Nullable Path path;
  private final @Nullable ReadMemory memory;
  private @Nullable ByteSource source;
  private volatile boolean isInGroup;

  // Guarded by itself.
  private final List<ByteBuffer> read = new ArrayList<>(); // from the memory

  private SourceInput(
      String name, @Nullable Path path, @Nullable ByteSource source, @Nullable ReadMemory memory) {
    this.name = name;
    this.path = path;
    this.source = source;
    this.memory = memory;
  }

  /** Returns a local file, closed with the input. */
  static SourceInput of(Path path) {
    return new SourceInput(path.toString(), path, null, null);
  }

  /** Returns a source of the program's, which stays open. */
  static SourceInput of(ByteSource source) {
    return new SourceInput(source.name(), null, source, null);
  }

  /** Returns this input, not yet open, with memory for its reads. */
  SourceInput with(ReadMemory shared) {
    return new SourceInput(name, path, source, shared);
  }

  @Override
  public void open() throws IOException {
    if (source == null && path != null) {
      source = ByteSource.file(path);
    }
  }

  private ByteSource source() {
    ByteSource opened = source;
    if (opened == null) {
      throw new IllegalStateException(name + " is closed");
    }
    return opened;
  }

  @Override
  public ByteBuffer readRange(long offset, int length) throws IOException {
    // Hardwood asks again and again behind a column that is shorter than its pages.
    if (length == 0) {
      throw new EOFException("the pages of a column continue behind its end, at byte " + offset);
    }
    if (memory == null || !isInGroup || !ReadMemory.isReused(length)) {
      ByteBuffer bytes = ByteBuffer.allocate(length);
      readFully(offset, bytes);
      return bytes.flip();
    }
    ByteBuffer bytes = memory.take(length);
    try {
      readFully(offset, bytes.limit(length));
      return bytes.slice(0, length);
    } finally {
      synchronized (read) {
        read.add(bytes);
      }
    }
  }

  /** Reads in pieces, since the JDK keeps as large a direct buffer for an array. */
  private void readFully(long offset, ByteBuffer bytes) throws IOException {
    int length = bytes.limit();
    while (bytes.position() < length) {
      int at = bytes.position();
      bytes.limit(Math.min(length, at + PIECE));
      source().readFully(offset + at, bytes);
    }
  }

  /** Begins a row group: the reads until its end use the memory. */
  void beginGroup() {
    synchronized (read) {
      read.clear(); // of a group that failed to open: left to the garbage collector
    }
    isInGroup = true;
  }

  /**
   * Ends a row group.
   *
   * @param isUnused whether no thread reads its bytes any more
   */
  void endGroup(boolean isUnused) {
    isInGroup = false;
    synchronized (read) {
      if (isUnused && memory != null) {
        memory.give(read);
      }
      read.clear();
    }
  }

  @Override
  public long length() throws IOException {
    return source().size();
  }

  @Override
  public String name() {
    return name;
  }

  /** Returns a hash of the size and of the footer, which has the places of all pages. */
  String content() {
    try {
      long size = length();
      int footer = footerLength(size);
      MessageDigest hash = sha256();
      hash.update(ByteBuffer.allocate(Long.BYTES).putLong(size).flip());
      hash.update(readRange(size - TAIL - footer, footer));
      return HexFormat.of().formatHex(hash.digest());
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /**
   * Returns the version of a source, or the time of the last change of a local file: two files of
   * equal content may differ in nothing else.
   */
  String version() {
    try {
      return path == null ? source().version() : Files.getLastModifiedTime(path).toString();
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Returns whether the version changes with each change of the content; times may not. */
  boolean isVersioned() {
    return path == null && !version().isEmpty();
  }

  private ParquetException failed(IOException cause) {
    return new ParquetException(
        Problem.FILE, "%s: %s".formatted(name, ParquetException.reason(cause)), cause);
  }

  /** Returns the length of a footer, of at least one byte. */
  private int footerLength(long size) throws IOException {
    if (size >= TAIL) {
      int length = readRange(size - TAIL, TAIL).order(ByteOrder.LITTLE_ENDIAN).getInt();
      if (length > 0 && length <= size - TAIL) {
        return length;
      }
    }
    throw new ParquetException(Problem.FILE, name + " has no footer of a Parquet file");
  }

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("each Java has SHA-256", e);
    }
  }

  @Override
  public void close() throws IOException {
    if (path != null && source != null) {
      source.close();
      source = null;
    }
  }
}
