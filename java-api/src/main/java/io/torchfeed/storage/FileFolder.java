// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.Folders;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The whole files of a cache, which processes share. An entry is a folder, whose name ends with the
 * bytes of its files. It exists from the time when room was made for it, and has the time of its
 * last use. Beside it are {@code ENTRY.note}, with the sizes and times of the files once they are
 * complete, and {@code ENTRY.use}: each process that uses the entry has a shared lock on it, and
 * only a process that gets the exclusive lock deletes the entry.
 *
 * <p>A thread that looks for an entry holds the lock of its stripe, also while it copies files, and
 * for a short time the one of the folder. Each is a lock of this process, then one of a file, which
 * ends with its process.
 */
final class FileFolder {
  private static final int STRIPES = 64;

  /** The ranges of all files that are copied at a time, in memory. */
  private static final int RANGES = 8;

  private static final int RANGE_BYTES = 8 << 20;
  private static final String USE = ".use";
  private static final String NOTE = ".note";
  private static final Pattern ENTRY = Pattern.compile("[0-9a-f]{32}-(\\d{1,18})");
  private static final List<ReentrantLock> LOCKS =
      IntStream.rangeClosed(0, STRIPES).mapToObj(i -> new ReentrantLock()).toList();

  /**
   * The locks of this process, guarded by the last of the others. Nothing else may open their
   * files, as setting a time does: closing a file ends all locks of the process on it.
   */
  private static final Map<Path, Use> USES = new HashMap<>();

  private final Path folder;
  private final long maxBytes;

  FileFolder(Path folder, long maxBytes) {
    this.folder = folder;
    this.maxBytes = maxBytes;
  }

  /** A file of an entry and the source of its bytes. */
  record Item(Path name, long size, ByteSource source) {}

  private static final class Use {
    private final FileChannel file;
    private int users = 1;

    Use(FileChannel file) {
      this.file = file;
    }
  }

  /**
   * Returns the folder of an entry with all of its files, in use until it is released.
   *
   * @param copies the number of files that are copied at a time, of this entry and others
   */
  Path find(String entry, long bytes, List<Item> items, int copies)
      throws IOException, InterruptedException {
    int stripe = Math.floorMod(entry.hashCode(), STRIPES);
    ReentrantLock lock = LOCKS.get(stripe);
    lock.lockInterruptibly();
    try {
      Path root = Files.createDirectories(folder).toRealPath();
      try (FileChannel file = openLock(root, "files-lock-" + stripe);
          FileLock held = file.lock()) {
        reserve(root, entry, bytes, items.get(0));
        fill(root, entry, items, copies);
        return root.resolve(entry);
      }
    } catch (IOException e) {
      if (!(e instanceof ByteSourceException) && Thread.currentThread().isInterrupted()) {
        throw new InterruptedException("waiting for " + folder);
      }
      throw e;
    } finally {
      lock.unlock();
    }
  }

  private void fill(Path root, String entry, List<Item> items, int copies)
      throws IOException, InterruptedException {
    boolean isDone = false;
    try {
      if (!isComplete(root, entry, items)) {
        copy(root, entry, items, copies);
      }
      isDone = true;
    } finally {
      if (!isDone) {
        release(root.resolve(entry));
      }
    }
  }

  private static FileChannel openLock(Path root, String name) throws IOException {
    return FileChannel.open(
        root.resolve(name),
        StandardOpenOption.CREATE,
        StandardOpenOption.READ,
        StandardOpenOption.WRITE);
  }

  /** Begins to use an entry, and makes room for a new one. */
  private void reserve(Path root, String entry, long bytes, Item first)
      throws IOException, InterruptedException {
    ReentrantLock lock = LOCKS.get(STRIPES);
    lock.lockInterruptibly();
    try (FileChannel file = openLock(root, "files-lock");
        FileLock held = file.lock()) {
      Path files = root.resolve(entry);
      if (!Files.isDirectory(files)) {
        makeRoom(root, bytes, first.source().name());
        Files.createDirectory(files);
      }
      Files.setLastModifiedTime(files, FileTime.from(Instant.now()));
      begin(use(files));
    } finally {
      lock.unlock();
    }
  }

  /** The folder is locked, so that no process tries to delete the entry. */
  private static void begin(Path path) throws IOException {
    Use known = USES.get(path);
    if (known != null) {
      known.users++;
    } else {
      FileChannel file = openLock(path.resolveSibling("."), String.valueOf(path.getFileName()));
      boolean isLocked = false;
      try {
        file.lock(0, Long.MAX_VALUE, true);
        isLocked = true;
      } finally {
        if (!isLocked) {
          file.close();
        }
      }
      USES.put(path, new Use(file));
    }
  }

  /** Returns the file of an entry that tells its use. */
  private static Path use(Path files) {
    return files.resolveSibling(files.getFileName() + USE);
  }

  /** Ends the use of an entry that was found. */
  static void release(Path files) throws IOException {
    Path path = use(files);
    ReentrantLock lock = LOCKS.get(STRIPES);
    lock.lock();
    try {
      Use use = USES.get(path);
      if (use != null && --use.users == 0) {
        USES.remove(path);
        use.file.close();
      }
    } finally {
      lock.unlock();
    }
  }

  private static boolean isComplete(Path root, String entry, List<Item> items) throws IOException {
    byte[] note;
    try {
      note = Files.readAllBytes(root.resolve(entry + NOTE));
    } catch (NoSuchFileException e) {
      return false;
    }
    return new String(note, UTF_8).equals(note(root.resolve(entry), items));
  }

  /** Returns the sizes and times of files; null if one is missing or has another size. */
  private static @Nullable String note(Path files, List<Item> items) throws IOException {
    StringBuilder note = new StringBuilder();
    for (Item item : items) {
      BasicFileAttributes file;
      try {
        file = Files.readAttributes(files.resolve(item.name()), BasicFileAttributes.class);
      } catch (NoSuchFileException e) {
        return null;
      }
      if (file.size() != item.size()) {
        return null;
      }
      note.append(file.size()).append(' ');
      note.append(file.lastModifiedTime().to(TimeUnit.NANOSECONDS)).append('\n');
    }
    return note.toString();
  }

  private static void copy(Path root, String entry, List<Item> items, int copies)
      throws IOException, InterruptedException {
    Path note = root.resolve(entry + NOTE);
    Files.deleteIfExists(note);
    Path files = root.resolve(entry);
    Folders.clear(files); // the rest of a killed process; others see that the entry exists
    if (items.size() == 1) {
      copy(items.get(0), files, copies);
    } else {
      copyAll(items, files, copies);
    }
    String text = note(files, items);
    if (text == null) {
      throw new IOException("another process has changed the files of " + files);
    }
    FileReplacement.write(note, ByteBuffer.wrap(text.getBytes(UTF_8)));
  }

  private static void copyAll(List<Item> items, Path files, int copies)
      throws IOException, InterruptedException {
    List<Callable<Boolean>> tasks = new ArrayList<>();
    for (Item item : items) {
      tasks.add(
          () -> {
            copy(item, files, copies);
            return true;
          });
    }
    try (TasksAhead<Boolean> ahead = new TasksAhead<>(tasks, copies)) {
      while (ahead.hasNext()) {
        ahead.next();
      }
    }
  }

  private static void copy(Item item, Path files, int copies) throws IOException {
    Path file = files.resolve(item.name());
    Files.createDirectories(file.resolveSibling("."));
    ByteSource source = new Borrowed(item.source());
    int ranges = Math.max(2, RANGES / copies);
    try (ReadAhead ahead = ReadAhead.of(source, RANGE_BYTES, ranges)) {
      ahead.copyTo(file);
    } catch (ByteSourceException | FileSystemException e) {
      throw e;
    } catch (IOException e) { // which names no file
      String reason = "its %d bytes cannot be written: %s; make room, or use another folder";
      FileSystemException named =
          new FileSystemException(
              file.toString(), null, reason.formatted(item.size(), Failures.reason(e)));
      named.initCause(e);
      throw named;
    }
  }

  private record Kept(Path files, long bytes, FileTime used) {}

  /** Deletes the least recently used entries that no process uses, as far as room is needed. */
  private void makeRoom(Path root, long bytes, String name) throws IOException {
    List<Kept> entries = new ArrayList<>();
    long total = bytes;
    try (DirectoryStream<Path> all = Files.newDirectoryStream(root)) {
      for (Path path : all) {
        Matcher entry = ENTRY.matcher(String.valueOf(path.getFileName()));
        if (entry.matches()) {
          long size = Long.parseLong(entry.group(1));
          entries.add(new Kept(path, size, Files.getLastModifiedTime(path)));
          total += size;
        }
      }
    }
    entries.sort(Comparator.comparing(Kept::used));
    for (Kept oldest : entries) {
      if (total <= maxBytes) {
        return;
      } else if (isDeleted(oldest.files())) {
        total -= oldest.bytes();
      }
    }
    if (total > maxBytes) {
      String reason =
          "its %d bytes do not fit the limit of %d for %s, where files in use have %d; release files"
              + " after their last reader, copy fewer ahead, or give a higher limit";
      throw new ByteSourceException(
          name, 0, reason.formatted(bytes, maxBytes, folder, total - bytes), null);
    }
  }

  /** Deletes an entry unless a process uses it. */
  private static boolean isDeleted(Path files) throws IOException {
    Path use = use(files);
    if (USES.containsKey(use)) {
      return false;
    }
    try (FileChannel file = openLock(files.resolveSibling("."), String.valueOf(use.getFileName()));
        FileLock lock = file.tryLock()) {
      if (lock == null) {
        return false;
      }
      Files.deleteIfExists(files.resolveSibling(files.getFileName() + NOTE));
      Folders.delete(files);
      Files.delete(use);
      return true;
    }
  }

  @Override
  public String toString() {
    return folder.toString();
  }

  /** A source that stays open. */
  private record Borrowed(ByteSource source) implements ByteSource {
    @Override
    public String name() {
      return source.name();
    }

    @Override
    public long size() throws IOException {
      return source.size();
    }

    @Override
    public int read(long offset, ByteBuffer into) throws IOException {
      return source.read(offset, into);
    }

    @Override
    public void close() {}
  }
}
