// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import io.torchfeed.bindings.LoadFailure;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Folders;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.function.Function;

/**
 * The folder into which this process unpacks libraries, of this user alone: it exists while one is
 * loaded.
 *
 * <p>It always has the same name. A library that has been loaded remains in the process even after
 * it is closed, where its code has objects of a thread; the system's loader finds it by its name,
 * and uses it again.
 */
final class UnpackedFolder {
  private static final int RANDOM_BYTES = 16;
  private static final String OTHER_FOLDER = "name another one by -Djava.io.tmpdir=FOLDER";

  private static final Path FOLDER =
      Path.of(System.getProperty("java.io.tmpdir"), "torchfeed-pt2-" + randomDigits())
          .toAbsolutePath();

  private UnpackedFolder() {}

  private static String randomDigits() {
    byte[] bytes = new byte[RANDOM_BYTES];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /**
   * Creates the folder, calls a function, and deletes the folder with all that is in it; one call
   * at a time.
   *
   * @return the result of the function, closed if the folder cannot be deleted
   * @throws UncheckedIOException if the folder cannot be created or deleted
   */
  static synchronized CompiledModel use(Function<Path, CompiledModel> function) {
    try {
      delete();
      Files.createDirectory(
          FOLDER,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    } catch (IOException e) {
      throw unwritable(e);
    }
    CompiledModel model;
    try {
      model = function.apply(FOLDER);
    } catch (RuntimeException | Error e) {
      try {
        delete();
      } catch (IOException notDeleted) {
        e.addSuppressed(notDeleted);
      }
      throw e;
    }
    try {
      delete();
    } catch (IOException e) {
      model.close();
      throw new UncheckedIOException("the unpacked files of a model cannot be deleted", e);
    }
    return model;
  }

  /**
   * Creates a file of the folder.
   *
   * @return a stream into it, whose failures are not taken for those of a package that is read
   * @throws UncheckedIOException if it cannot be created; the stream throws the same
   */
  static OutputStream create(Path file) {
    try {
      return new Unpacked(Files.newOutputStream(file));
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  private static UncheckedIOException unwritable(IOException e) {
    String advice =
        e instanceof ClosedByInterruptException ? "" : "; make room in it, or " + OTHER_FOLDER;
    return new UncheckedIOException(
        "a model cannot be unpacked into the temporary folder %s: %s%s"
            .formatted(FOLDER.getParent(), Failures.reason(e), advice),
        e);
  }

  /**
   * Returns why no library of the folder can be loaded.
   *
   * @return the reason with the remedy; empty if one can
   */
  static Optional<String> obstacle() {
    return LoadFailure.isNoexec(FOLDER)
        ? Optional.of(
            "the temporary folder %s is in a file system that is mounted with noexec; %s"
                .formatted(FOLDER.getParent(), OTHER_FOLDER))
        : Optional.empty();
  }

  /** A file of the folder. */
  private static final class Unpacked extends FilterOutputStream {
    Unpacked(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int from, int count) {
      try {
        out.write(bytes, from, count);
      } catch (IOException e) {
        throw unwritable(e);
      }
    }
  }

  private static void delete() throws IOException {
    if (Files.exists(FOLDER)) {
      Folders.delete(FOLDER);
    }
  }
}
