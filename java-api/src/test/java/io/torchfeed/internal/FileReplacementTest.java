// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileReplacementTest {
  private static final int OTHER_GROUP = 54_321;

  private final Path folder;
  private final Path file;

  FileReplacementTest(@TempDir Path folder) {
    this.folder = folder;
    file = folder.resolve("file");
  }

  @Test
  void whatTheSystemRefusesToWriteLeavesTheOldFileAlone() throws IOException {
    Files.writeString(file, "old");
    // As a full disk, a position behind the largest file makes the system refuse the write.
    assertThatThrownBy(
            () ->
                FileReplacement.write(
                    file, channel -> channel.write(ByteBuffer.allocate(9), Long.MAX_VALUE - 9)))
        .isInstanceOf(IOException.class);
    assertThatThrownBy(
            () ->
                FileReplacement.write(
                    file,
                    channel -> {
                      throw new OutOfMemoryError("no heap");
                    }))
        .isInstanceOf(OutOfMemoryError.class);
    assertThat(file).hasContent("old");
    assertThat(folder.toFile().list()).containsExactly("file");
  }

  @Test
  void aLinkToNothingIsReplaced() throws IOException {
    Files.createSymbolicLink(file, Path.of("none"));
    FileReplacement.write(file, channel -> channel.write(ByteBuffer.wrap(new byte[] {7})));
    assertThat(Files.readAllBytes(file)).containsExactly(7);
    assertThat(folder.toFile().list()).containsExactly("file");
  }

  @Test
  void aReplacedFileKeepsItsPermissionsAndOtherLinksTheOldContent() throws IOException {
    Files.writeString(file, "old");
    Path link = Files.createLink(folder.resolve("link"), file);
    for (String mode : List.of("rw-------", "rw-rw-rw-", "r--r-----", "rwxr-x--x")) {
      Set<PosixFilePermission> permissions = PosixFilePermissions.fromString(mode);
      Files.setPosixFilePermissions(file, permissions);
      FileReplacement.write(
          file,
          channel -> {
            assertThat(Files.getPosixFilePermissions(partial())).isEqualTo(permissions);
            channel.write(ByteBuffer.wrap(new byte[] {7}));
          });
      assertThat(Files.getPosixFilePermissions(file)).isEqualTo(permissions);
    }
    assertThat(Files.readAllBytes(file)).containsExactly(7);
    assertThat(link).hasContent("old");
    assertThat(folder.toFile().list()).containsExactlyInAnyOrder("file", "link");
  }

  @Test
  void aReplacedFileKeepsItsGroup() throws IOException {
    Files.writeString(file, "old");
    setGroup(file, OTHER_GROUP);
    Set<PosixFilePermission> permissions = PosixFilePermissions.fromString("rw-rw----");
    Files.setPosixFilePermissions(file, permissions);
    FileReplacement.write(file, channel -> channel.write(ByteBuffer.wrap(new byte[] {7})));
    assertThat(Files.readAllBytes(file)).containsExactly(7);
    assertThat(Files.getAttribute(file, "unix:gid")).isEqualTo(OTHER_GROUP);
    assertThat(Files.getPosixFilePermissions(file)).isEqualTo(permissions);
  }

  /** Gives a file to a group that need not have a name; skips the test if the user may not. */
  private static void setGroup(Path file, int group) throws IOException {
    try {
      Files.setAttribute(file, "unix:gid", group);
    } catch (FileSystemException e) {
      assumeThat(e).as("the right to give a file to any group").isNull();
    }
  }

  @Test
  void aNewFileHasThePermissionsOfAnyOther() throws IOException {
    FileReplacement.write(file, channel -> channel.write(ByteBuffer.wrap(new byte[] {7})));
    Path other = Files.createFile(folder.resolve("other"));
    assertThat(Files.getPosixFilePermissions(file)).isEqualTo(Files.getPosixFilePermissions(other));
  }

  /** Returns the file that is being written. */
  private Path partial() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(each -> each.toString().contains(".partial-")).findFirst().orElseThrow();
    }
  }
}
