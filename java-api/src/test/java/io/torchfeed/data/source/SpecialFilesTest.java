// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.graph.GraphFile;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.text.TextFileException;
import io.torchfeed.text.TextPartition;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that special files are refused at once: opening a pipe would wait for a writer. */
class SpecialFilesTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private Path folder;

  @BeforeEach
  void makeFolder(@TempDir Path temporary) {
    folder = temporary;
  }

  private enum Reader {
    CSV,
    GRAPH,
    DENSE_ROWS,
    IDX,
    NPY,
    RAW,
    COSTS;

    void read(Path path) {
      switch (this) {
        case CSV -> CsvFile.of(path).load(CsvFile.CsvColumn.of(DType.INT64, "a"));
        case GRAPH -> GraphFile.loadBipartiteGraph(path);
        case DENSE_ROWS -> GraphFile.loadDense(path);
        case IDX -> FileColumn.idx(path);
        case NPY -> FileColumn.npy(path);
        case RAW -> FileColumn.raw(RowLayout.of(DType.UINT8), path);
        case COSTS -> Costs.read(path);
      }
    }
  }

  private static Path pipe(Path path) throws IOException, InterruptedException {
    int status = new ProcessBuilder("mkfifo", path.toString()).start().waitFor();
    assumeTrue(status == 0, "mkfifo is not available");
    return path;
  }

  @ParameterizedTest
  @EnumSource(Reader.class)
  void specialFilesAreRefusedByEveryReader(Reader reader) throws Exception {
    assertRefused(reader, pipe(folder.resolve("pipe")), "a pipe, a socket or a device");
    assertRefused(reader, Files.createDirectory(folder.resolve("directory")), "a directory");
    assertRefused(reader, Path.of("/dev/zero"), "a pipe, a socket or a device");
    Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("pipe"));
    assertRefused(reader, link, "a pipe, a socket or a device");
  }

  private static void assertRefused(Reader reader, Path path, String kind) {
    assertTimeoutPreemptively(
        PATIENCE,
        () ->
            assertThatThrownBy(() -> reader.read(path))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(path + " must be a regular file, got " + kind));
  }

  @ParameterizedTest
  @EnumSource(Reader.class)
  void missingFilesAreReported(Reader reader) {
    Path missing = folder.resolve("missing");
    assertThatThrownBy(() -> reader.read(missing))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessageMatching("cannot read .*" + missing + ": no such file or directory");
  }

  @Test
  void aSpecialFileReplacingAPlannedTextIsRefused() throws Exception {
    Path file = Files.writeString(folder.resolve("text"), "a\n");
    TextPartition plan = TextPartition.plan(List.of(file.toString()), 1);
    Files.delete(file);
    pipe(file);
    assertTimeoutPreemptively(
        PATIENCE,
        () ->
            assertThatThrownBy(() -> plan.open(0).next())
                .isInstanceOfSatisfying(
                    TextFileException.class,
                    e -> assertThat(e.problem()).isEqualTo(TextFileException.Problem.UNREADABLE))
                .hasMessage(file + " must be a regular file, got a pipe, a socket or a device"));
  }

  static List<Arguments> decoders() {
    return List.of(
        Arguments.of(ImageDecoder.imageIo(1, 1), " must be a regular file, got a pipe"),
        Arguments.of(
            ImageDecoder.of(ImagePlan.builder().resize(1, 1).build()),
            " cannot be read as an image: it is not a regular file"));
  }

  @ParameterizedTest
  @MethodSource("decoders")
  void aSpecialFileReplacingAnImageIsRefused(ImageDecoder decoder, String problem)
      throws Exception {
    Path image = Files.createDirectory(folder.resolve("class")).resolve("image.png");
    ImageIO.write(new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB), "png", image.toFile());
    DecodedFolder images = DecodedFolder.open(folder, decoder);
    Files.delete(image);
    pipe(image);
    assertTimeoutPreemptively(
        PATIENCE,
        () -> {
          try (DataLoader loader = DataLoader.over(images).build();
              Batches batches = loader.epoch(0)) {
            assertThatThrownBy(batches::next)
                .isInstanceOf(SampleException.class)
                .hasMessageContaining(image + problem);
          }
        });
  }
}
