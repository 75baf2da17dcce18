// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.Sha256;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.UnaryOperator;

/** Changes to the files of checkpoints. */
final class ChangedFiles {
  private ChangedFiles() {}

  /** Flips a bit of a byte. */
  static void flip(Path file, long at) {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      ByteBuffer one = ByteBuffer.allocate(1);
      channel.read(one, at);
      one.put(0, (byte) (one.get(0) ^ 1));
      channel.write(one.flip(), at);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes another manifest, and the digest that fits it. */
  static void writeManifest(Path manifest, String text) throws IOException {
    Files.writeString(manifest, text);
    Files.writeString(
        manifest.resolveSibling("manifest.sha256"), Sha256.hex(text) + "  manifest.json\n");
  }

  /** Changes a manifest, as {@link #writeManifest}. */
  static void rewriteManifest(Path manifest, UnaryOperator<String> change) throws IOException {
    String before = Files.readString(manifest);
    String after = change.apply(before);
    assertThat(after).isNotEqualTo(before);
    writeManifest(manifest, after);
  }
}
