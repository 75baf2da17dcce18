// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputFileTest {
  private static final byte[] NEW = {7};

  private final Path folder;
  private final Path file;

  OutputFileTest(@TempDir Path folder) {
    this.folder = folder;
    file = folder.resolve("file");
  }

  @Test
  void writersOfOnePathDoNotShareTheirUnfinishedFile() throws IOException {
    OutputFile.write(
        file,
        first -> {
          try (Writer writer = Files.newBufferedWriter(first)) {
            writer.append("is ").flush();
            OutputFile.write(file, NEW);
            assertThat(file).hasBinaryContent(NEW);
            writer.append("complete");
          }
        });
    assertThat(file).hasContent("is complete");
    assertThat(folder.toFile().list()).containsExactly("file");
  }

  @Test
  void aLinkStaysAndItsFileIsReplaced() throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("link"), Path.of("file"));
    Files.writeString(file, "old");
    OutputFile.write(link, NEW);
    assertThat(link).isSymbolicLink();
    assertThat(file).hasBinaryContent(NEW);
  }

  @Test
  void aPipeAndADeviceStay() throws Exception {
    assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor()).isZero();
    Path device = Files.createSymbolicLink(folder.resolve("device"), Path.of("/dev/null"));
    for (Path other : new Path[] {file, device, folder}) {
      assertThatThrownBy(() -> OutputFile.write(other, NEW))
          .isInstanceOf(IOException.class)
          .hasMessage(other + ": it exists and is no regular file, which would be replaced");
    }
    assertThat(folder.toFile().list()).containsExactlyInAnyOrder("file", "device");
  }

  @Test
  void aFailureLeavesTheOldFileAlone() throws IOException {
    Files.writeString(file, "old");
    assertThatThrownBy(
            () ->
                OutputFile.write(
                    file,
                    partial -> {
                      Files.write(partial, NEW);
                      throw new IOException("full");
                    }))
        .hasMessage("full");
    assertThat(file).hasContent("old");
    assertThat(folder.toFile().list()).containsExactly("file");
  }
}
