// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The files of a cache, which processes share. A block is a file of its bytes and their checksum.
 *
 * <p>A thread that adds a block holds a lock of the block's stripe while it fetches the bytes, and
 * the one of the folder while it makes room and writes. Each is a lock of this process, then one of
 * a file, which ends with its process.
 */
final class CacheFolder {
  private static final int STRIPES = 64;
  private static final int TRAILER = Long.BYTES;
  private static final String ENDING = ".block";
  private static final String PARTIAL = ".partial";
  private static final List<ReentrantLock> LOCKS =
      IntStream.rangeClosed(0, STRIPES).mapToObj(i -> new ReentrantLock()).toList();

  private final Path folder;
  private final long maxBytes;

  CacheFolder(Path folder, long maxBytes) {
    this.folder = folder;
    this.maxBytes = maxBytes;
  }

  /** The bytes of a block that is missing. */
  @FunctionalInterface
  interface Content {
    ByteBuffer get() throws IOException;
  }

  /**
   * A block.
   *
   * @param bytes all of it
   * @param block its file; null if it has none
   * @param failure why it has none; null if it has one
   */
  record Found(ByteBuffer bytes, @Nullable Block block, @Nullable IOException failure) {}

  /** A checked block that stays readable when its file is deleted. */
  record Block(FileChannel channel) {
    /** Fills a buffer; returns false if another thread has closed the file. */
    boolean read(long from, ByteBuffer into) throws IOException {
      long start = from - into.position();
      try {
        while (into.hasRemaining()) {
          if (channel.read(into, start + into.position()) < 0) {
            return false;
          }
        }
        return true;
      } catch (ClosedByInterruptException e) {
        throw e;
      } catch (ClosedChannelException e) {
        return false;
      }
    }

    void close() {
      try {
        channel.close();
      } catch (IOException e) {
        return; // it was read only
      }
    }
  }

  /**
   * Returns a block of the folder, or fetches and adds it.
   *
   * @throws IOException of the content; failures of the folder are in the result
   */
  Found find(String name, int count, Content content) throws IOException, InterruptedException {
    int stripe = Math.floorMod(name.hashCode(), STRIPES);
    ReentrantLock lock = LOCKS.get(stripe);
    lock.lockInterruptibly();
    try {
      return found(stripe, name, count, content);
    } finally {
      lock.unlock();
    }
  }

  private Found found(int stripe, String name, int count, Content content)
      throws IOException, InterruptedException {
    @Nullable ByteBuffer bytes = null;
    @Nullable IOException ofContent = null;
    try {
      Found kept = read(name, count);
      if (kept != null) {
        return kept;
      }
      Files.createDirectories(folder);
      try (FileChannel file = openLock("lock-" + stripe);
          FileLock held = file.lock()) {
        kept = read(name, count);
        if (kept != null) { // of another process
          return kept;
        }
        try {
          bytes = content.get();
        } catch (IOException e) {
          ofContent = e;
          throw e;
        }
        add(name, bytes.duplicate());
        Block block = new Block(FileChannel.open(path(name), StandardOpenOption.READ));
        return new Found(bytes, block, null);
      }
    } catch (IOException e) {
      if (ofContent != null) {
        throw ofContent;
      } else if (Thread.currentThread().isInterrupted()) {
        throw new InterruptedException("waiting for " + folder);
      }
      return new Found(bytes == null ? content.get() : bytes, null, e);
    }
  }

  private Path path(String name) {
    return folder.resolve(name + ENDING);
  }

  private FileChannel openLock(String name) throws IOException {
    return FileChannel.open(
        folder.resolve(name), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }

  /** Returns a block; null if it is missing or damaged. */
  private @Nullable Found read(String name, int count) throws IOException {
    Path path = path(name);
    Block block;
    try {
      block = new Block(FileChannel.open(path, StandardOpenOption.READ));
    } catch (NoSuchFileException e) {
      return null;
    }
    ByteBuffer all = ByteBuffer.allocate(count + TRAILER);
    boolean isRight = false;
    try {
      isRight =
          block.channel().size() == all.capacity()
              && block.read(0, all)
              && all.getLong(count) == checksum(name, all.flip().limit(count));
    } finally {
      if (!isRight) {
        block.close();
      }
    }
    if (!isRight) {
      return null; // and replaced
    }
    touch(path);
    return new Found(all.rewind().limit(count), block, null);
  }

  /**
   * Makes a block one that was used last, if possible: it may be deleted by now, belong to another
   * user, or be on a disk that is only read.
   */
  private static void touch(Path path) {
    try {
      Files.setLastModifiedTime(path, FileTime.from(Instant.now()));
    } catch (IOException e) {
      return;
    }
  }

  @Override
  public String toString() {
    return folder.toString();
  }

  private static long checksum(String name, ByteBuffer bytes) {
    CRC32C sum = new CRC32C();
    for (int i = 0; i < name.length(); i++) {
      sum.update(name.charAt(i));
    }
    sum.update(bytes.duplicate());
    return sum.getValue();
  }

  /** Writes a block; it appears as a whole. */
  private void add(String name, ByteBuffer bytes) throws IOException, InterruptedException {
    long size = bytes.remaining() + (long) TRAILER;
    if (size > maxBytes) {
      throw new IOException(
          "a block of %d bytes does not fit the limit of %d".formatted(size, maxBytes));
    }
    ReentrantLock lock = LOCKS.get(STRIPES);
    lock.lockInterruptibly();
    try (FileChannel file = openLock("lock");
        FileLock held = file.lock()) {
      makeRoom(size);
      write(name, bytes);
    } finally {
      lock.unlock();
    }
  }

  private void write(String name, ByteBuffer bytes) throws IOException {
    Path partial = folder.resolve(name + PARTIAL); // of this thread: the folder is locked
    ByteBuffer trailer = ByteBuffer.allocate(TRAILER).putLong(0, checksum(name, bytes));
    try {
      try (FileChannel channel =
          FileChannel.open(
              partial,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.WRITE)) {
        while (bytes.hasRemaining()) { // a full disk takes a part
          channel.write(bytes);
        }
        while (trailer.hasRemaining()) {
          channel.write(trailer);
        }
      }
      Files.move(
          partial, path(name), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(partial);
    }
  }

  private record Kept(Path path, long bytes, FileTime used) {}

  /** Deletes the partial files of killed processes, and the least recently used blocks. */
  private void makeRoom(long size) throws IOException {
    List<Kept> blocks = new ArrayList<>();
    long total = size;
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path path : files) {
        String name = String.valueOf(path.getFileName());
        if (name.endsWith(PARTIAL)) {
          Files.deleteIfExists(path);
        } else if (name.endsWith(ENDING)) {
          BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
          blocks.add(new Kept(path, attributes.size(), attributes.lastModifiedTime()));
          total += attributes.size();
        }
      }
    }
    blocks.sort(Comparator.comparing(Kept::used));
    for (Kept oldest : blocks) {
      if (total <= maxBytes) {
        return;
      }
      Files.deleteIfExists(oldest.path());
      total -= oldest.bytes();
    }
  }
}
