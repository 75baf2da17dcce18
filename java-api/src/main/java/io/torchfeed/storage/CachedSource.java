// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Sha256;
import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A source that keeps the blocks it has read of another in files of a local folder, so that each
 * byte is requested once per machine: later epochs, other ranks and later programs read it from
 * there. Its name, size, version and bytes are the same. Thread-safe.
 *
 * <pre>{@code
 * HttpSource object = HttpSource.of(URI.create("https://data.example.org/train.csv"));
 * ByteSource cached = CachedSource.of(object, Path.of("train-cache"), 50L << 30);
 * }</pre>
 *
 * <p>Any number of processes share a folder. Blocks appear as a whole or not at all; of processes
 * that want the same block at a time, one requests it. Each block has a checksum, which is compared
 * when a source opens its file; a damaged block is requested again. Blocks belong to name, size and
 * {@link ByteSource#version} of the source: after a change they are not found any more. A source
 * that knows no version must not change while its name and size stay.
 *
 * <p>Before a block is added, the least recently used ones are deleted until all of them fit the
 * limit, which should be the same in all processes. A folder that cannot be written, for example
 * since the disk is full, is no failure: blocks are then requested each time, except for the last
 * one, which stays in memory, and the {@link Logger} {@code io.torchfeed.storage} has one warning
 * per source.
 *
 * <p>A read that finds no block requests all of it, by the reading thread. With {@link ReadAhead}
 * around this source, not within, several blocks are requested at a time.
 */
public final class CachedSource implements ByteSource {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.storage");
  private static final int BLOCK_BYTES = 8 << 20;
  private static final int MAX_BLOCK_BYTES = 1 << 30;
  private static final int MAX_OPEN = 64;

  private final ByteSource source;
  private final CacheFolder folder;
  private final int blockBytes;

  // guarded by this
  private @Nullable String prefix;
  private long size;
  private boolean hasWarned;
  private boolean isClosed;

  /** The last block that the folder could not take, for the reads that follow within it. */
  private @Nullable Unkept unkept;

  /** Open blocks by their number; the one that was used last is last. */
  private final Map<Long, CacheFolder.Block> open = new LinkedHashMap<>(16, 0.75f, true);

  private record Unkept(long number, ByteBuffer bytes) {}

  private CachedSource(ByteSource source, CacheFolder folder, int blockBytes) {
    this.source = source;
    this.folder = folder;
    this.blockBytes = blockBytes;
  }

  /**
   * Keeps blocks of 8 MiB.
   *
   * @param source closed with the returned one
   * @param folder created when the first block is kept; it should hold nothing else
   * @param bytes the most that all files in the folder may have, at least 1
   * @return the source that keeps its blocks; the caller closes it
   * @throws IllegalArgumentException if {@code bytes} is less than 1
   */
  public static CachedSource of(ByteSource source, Path folder, long bytes) {
    requireNonNull(source, "source");
    requireNonNull(folder, "folder");
    return of(source, folder, bytes, BLOCK_BYTES);
  }

  /**
   * Keeps blocks.
   *
   * @param source closed with the returned one
   * @param folder created when the first block is kept; it should hold nothing else
   * @param bytes the most that all files in the folder may have, at least 1
   * @param blockBytes the bytes of a block, in [1, 2<sup>30</sup>]: more for slow stores, fewer for
   *     reads at random
   * @return the source that keeps its blocks; the caller closes it
   * @throws IllegalArgumentException if a number is out of range
   */
  public static CachedSource of(ByteSource source, Path folder, long bytes, int blockBytes) {
    requireNonNull(source, "source");
    requireNonNull(folder, "folder");
    if (bytes < 1) {
      throw new IllegalArgumentException("bytes must be at least 1, got " + bytes);
    }
    if (blockBytes < 1 || blockBytes > MAX_BLOCK_BYTES) {
      throw new IllegalArgumentException(
          "blockBytes must be in [1, %d], got %d".formatted(MAX_BLOCK_BYTES, blockBytes));
    }
    return new CachedSource(source, new CacheFolder(folder, bytes), blockBytes);
  }

  @Override
  public String name() {
    return source.name();
  }

  @Override
  public long size() throws IOException {
    return source.size();
  }

  @Override
  public String version() throws IOException {
    return source.version();
  }

  @Override
  public int read(long offset, ByteBuffer into) throws IOException {
    ReadArguments.require(offset, into);
    String name = prefix();
    if (offset >= size) {
      return -1;
    }
    long number = offset / blockBytes;
    int from = (int) (offset % blockBytes);
    int count = (int) Math.min(blockBytes, size - number * blockBytes);
    ByteBuffer part = into.slice();
    part.limit(Math.min(part.remaining(), count - from));
    int length = part.remaining();
    CacheFolder.Block block = held(number);
    if (block == null || !block.read(from, part.duplicate())) {
      forget(number);
      ByteBuffer bytes = inMemory(number);
      if (bytes == null) {
        bytes = found(name + "-" + number, number, count);
      }
      part.put(bytes.slice(from, part.remaining()));
    }
    into.position(into.position() + length);
    return length;
  }

  /** Returns the begin of the names of blocks, which asks the store once. */
  private String prefix() throws IOException {
    synchronized (this) {
      requireOpen();
      if (prefix != null) {
        return prefix;
      }
    }
    long bytes = source.size();
    String text = String.join("\n", source.name(), source.version(), bytes + " " + blockBytes);
    String hash = Sha256.hex(text).substring(0, 32);
    synchronized (this) {
      prefix = hash;
      size = bytes;
      return hash;
    }
  }

  private synchronized CacheFolder.@Nullable Block held(long number) throws IOException {
    requireOpen();
    return open.get(number);
  }

  private synchronized void forget(long number) {
    CacheFolder.Block block = open.remove(number);
    if (block != null) {
      block.close();
    }
  }

  private synchronized @Nullable ByteBuffer inMemory(long number) {
    return unkept != null && unkept.number == number ? unkept.bytes : null;
  }

  /** Returns all of a block, from the folder or the source. */
  private ByteBuffer found(String name, long number, int count) throws IOException {
    CacheFolder.Content content =
        () -> {
          ByteBuffer all = ByteBuffer.allocate(count);
          source.readFully(number * blockBytes, all);
          return all.flip();
        };
    CacheFolder.Found found;
    try {
      found = folder.find(name, count, content);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ByteSourceException(
          source.name(), Problem.INTERRUPTED, number * blockBytes, "the thread was interrupted", e);
    }
    if (found.failure() != null) {
      warn(found.failure());
    }
    keep(number, found);
    return found.bytes();
  }

  private synchronized void keep(long number, CacheFolder.Found found) {
    CacheFolder.Block block = found.block();
    if (block == null) {
      unkept = isClosed ? null : new Unkept(number, found.bytes());
      return;
    } else if (isClosed || open.containsKey(number)) {
      block.close();
      return;
    }
    unkept = null;
    open.put(number, block);
    if (open.size() > MAX_OPEN) {
      Iterator<CacheFolder.Block> eldest = open.values().iterator();
      eldest.next().close();
      eldest.remove();
    }
  }

  private synchronized void warn(IOException failure) {
    if (!hasWarned) {
      hasWarned = true;
      LOGGER.log(
          Level.WARNING,
          () ->
              "blocks of %s are not kept, since the folder %s cannot be used: %s"
                  .formatted(name(), folder, failure));
    }
  }

  private void requireOpen() throws ClosedChannelException {
    if (isClosed) {
      throw new ClosedChannelException();
    }
  }

  /** Refuses later reads, and closes the source. The blocks stay. */
  @Override
  public void close() throws IOException {
    synchronized (this) {
      isClosed = true;
      unkept = null;
      open.values().forEach(CacheFolder.Block::close);
      open.clear();
    }
    source.close();
  }

  @Override
  public String toString() {
    return "CachedSource[%s]".formatted(name());
  }
}
