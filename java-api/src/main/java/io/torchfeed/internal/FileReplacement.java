// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The replacement of a file as a whole: it is written under another name beside it, flushed and
 * renamed, so that an existing file is complete, even if others write it at the same time and
 * whenever the process is killed.
 */
public final class FileReplacement {
  private static final int MAX_NAME_BYTES = 255;
  private static final Set<PosixFilePermission> OF_GROUP =
      Set.of(
          PosixFilePermission.GROUP_READ,
          PosixFilePermission.GROUP_WRITE,
          PosixFilePermission.GROUP_EXECUTE);

  private FileReplacement() {}

  /** The content of a file. */
  @FunctionalInterface
  public interface Content {
    /**
     * Writes the content.
     *
     * @param channel an empty file
     * @throws IOException if it cannot be written
     */
    void write(FileChannel channel) throws IOException;
  }

  /**
   * Writes a file, or replaces one. If several threads or processes write the same path, the last
   * that ends wins. If writing fails, nothing changes and nothing is left. A file that is replaced
   * keeps its permissions and its group, as they are when writing begins; where this process may
   * not give a file to that group, the new file has the group of any other, without permissions for
   * it. Its owner is the user of this process, and other hard links to the old file keep the old
   * content.
   *
   * @param path the file; a link to a file is followed, one to nothing is replaced
   * @param content writes the content
   * @throws IOException if the file cannot be written, or the path names a folder, a pipe, a socket
   *     or a device, which stays
   */
  public static void write(Path path, Content content) throws IOException {
    Path target = Files.exists(path) ? path.toRealPath() : path;
    String kind = RegularFile.otherKind(target);
    if (kind != null) {
      throw new FileSystemException(
          path.toString(), null, "it must be a regular file or not exist, got " + kind);
    }
    @Nullable PosixFileAttributes old = attributes(target);
    Path partial = partial(target);
    boolean created = false;
    try {
      try (FileChannel channel = create(partial, old)) {
        created = true;
        if (old != null) {
          takeAccess(partial, old);
        }
        content.write(channel);
        channel.force(true);
      }
      Files.move(
          partial, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } catch (Throwable e) {
      if (created) {
        deleteQuietly(partial, e);
      }
      throw e;
    }
    Path folder = target.toAbsolutePath().getParent();
    if (folder != null) {
      flushFolder(folder);
    }
  }

  /** Like {@link #write(Path, Content)}, with all of the given bytes. */
  public static void write(Path path, ByteBuffer content) throws IOException {
    write(
        path,
        channel -> {
          while (content.hasRemaining()) { // a full disk takes a part
            channel.write(content);
          }
        });
  }

  /** Returns the attributes of a file; null if there is none, or the file system has no such. */
  private static @Nullable PosixFileAttributes attributes(Path file) throws IOException {
    PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
    if (view == null) {
      return null;
    }
    try {
      return view.readAttributes();
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  /** Gives a new file the group and the permissions of the one that it replaces. */
  private static void takeAccess(Path file, PosixFileAttributes old) throws IOException {
    Set<PosixFilePermission> permissions = old.permissions(); // also those that umask takes away
    Files.setPosixFilePermissions(
        file, hasGroup(file, old) ? permissions : withoutGroup(permissions));
  }

  /** Gives a file the group of another one; returns whether this process may. */
  private static boolean hasGroup(Path file, PosixFileAttributes old) throws IOException {
    PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
    if (view.readAttributes().group().equals(old.group())) {
      return true;
    }
    try {
      view.setGroup(old.group());
      return true;
    } catch (FileSystemException e) {
      return false; // the user is not in that group
    }
  }

  private static Set<PosixFilePermission> withoutGroup(Set<PosixFilePermission> permissions) {
    Set<PosixFilePermission> others = EnumSet.noneOf(PosixFilePermission.class);
    others.addAll(permissions);
    others.removeAll(OF_GROUP);
    return others;
  }

  /** Creates a file that no user can read who could not read the one that it replaces. */
  private static FileChannel create(Path file, @Nullable PosixFileAttributes old)
      throws IOException {
    Set<StandardOpenOption> options =
        EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    return old == null
        ? FileChannel.open(file, options)
        : FileChannel.open(
            file,
            options,
            PosixFilePermissions.asFileAttribute(withoutGroup(old.permissions()))); // not its yet
  }

  /** Returns a name that no other writer has: one that was killed may have left its file. */
  private static Path partial(Path target) {
    String suffix =
        String.format(Locale.ROOT, ".partial-%016x", UUID.randomUUID().getMostSignificantBits());
    boolean fits =
        target.getFileSystem() != FileSystems.getDefault()
            || PathBytes.name(target).length + suffix.length() <= MAX_NAME_BYTES;
    return fits ? PathBytes.withSuffix(target, suffix) : target.resolveSibling(suffix);
  }

  private static void deleteQuietly(Path partial, Throwable cause) {
    try {
      Files.deleteIfExists(partial);
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /**
   * Makes renamings and new files in a folder last. Not all platforms and file systems can, so a
   * failure is no error.
   */
  public static void flushFolder(Path folder) {
    if (folder.getFileSystem() != FileSystems.getDefault()) {
      return;
    }
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    } catch (IOException e) {
      return;
    }
  }
}
