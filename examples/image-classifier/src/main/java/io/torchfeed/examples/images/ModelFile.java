// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.examples.common.OutputFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.OutputArchive;

/** A file with the parameters and buffers of a net, in libtorch's archive format. */
final class ModelFile {
  private ModelFile() {}

  /** Writes a net; a kill at any moment leaves the file as it was, or complete. */
  @SuppressWarnings("try") // a scope works by being open
  static void save(Module net, Path file) throws IOException {
    try (PointerScope scope = new PointerScope()) {
      OutputArchive archive = new OutputArchive();
      net.save(archive);
      OutputFile.write(file, partial -> archive.save_to(partial.toString()));
    }
  }

  /**
   * Reads a net.
   *
   * @throws IllegalArgumentException if the file is missing, or holds no such net
   */
  @SuppressWarnings("try") // a scope works by being open
  static void load(Module net, Path file) {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException("--model: there is no file " + file);
    }
    try (PointerScope scope = new PointerScope()) {
      InputArchive archive = new InputArchive();
      archive.load_from(file.toString());
      net.load(archive);
    } catch (RuntimeException e) {
      String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
      throw new IllegalArgumentException(
          "--model: " + file + " is not a net for these classes: " + reason, e);
    }
  }
}
