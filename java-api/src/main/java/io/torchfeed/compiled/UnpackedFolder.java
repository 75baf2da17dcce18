// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import io.torchfeed.internal.Folders;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
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
      throw new UncheckedIOException("a temporary folder cannot be created", e);
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

  private static void delete() throws IOException {
    if (Files.exists(FOLDER)) {
      Folders.delete(FOLDER);
    }
  }
}
