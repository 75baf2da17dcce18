// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.GoldenLine;
import java.awt.image.Raster;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares with the records of PyTorch's SummaryWriter; see golden/python_summary.py. */
class SummaryGoldenTest {
  static final InstantSource CLOCK = InstantSource.fixed(Instant.parse("2025-11-28T00:00:00.250Z"));

  private static final int LINES = 25;
  private static final List<String> FILE = GoldenLine.read("python_summary.txt");

  private final Path folder;

  SummaryGoldenTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @Test
  void theHeaderNamesTheProgramAndEachLineIsThere() {
    assertThat(FILE.get(0)).startsWith("# python_summary.py, torch 2.10.");
    assertThat(FILE).hasSize(1 + LINES);
  }

  static Stream<String[]> records() {
    return FILE.stream()
        .skip(1)
        .map(line -> line.split(" ", -1))
        .filter(words -> words.length == 2);
  }

  static Stream<String[]> images() {
    return FILE.stream()
        .skip(1)
        .map(line -> line.split(" ", -1))
        .filter(words -> words.length == 3);
  }

  @ParameterizedTest
  @MethodSource("records")
  void recordsAreThoseOfPyTorch(String name, String hex) throws IOException {
    String[] parts = name.split(":", -1);
    byte[] written =
        written(
            writer -> {
              switch (parts[0]) {
                case "scalar" -> writer.scalar("loss/train", number(parts[1]), 7);
                case "step" -> writer.scalar("Genauigkeit in ‰", 1, Long.parseLong(parts[1]));
                default -> writer.histogram(parts[1], tensor(parts[1]), 3);
              }
            });
    assertThat(HexFormat.of().formatHex(written)).isEqualTo(hex);
  }

  @ParameterizedTest
  @MethodSource("images")
  void picturesHaveThePixelsOfPyTorch(String name, String shape, String pixels) throws IOException {
    long channels = Long.parseLong(name.split(":", -1)[1]);
    Tensor numbers = torch.arange(new Scalar(channels * 6));
    Tensor image =
        name.startsWith("uint8")
            ? numbers
                .mul(new Scalar(17))
                .remainder(new Scalar(256))
                .to(torch.ScalarType.Byte)
                .reshape(channels, 2, 3)
            : numbers
                .to(torch.ScalarType.Float)
                .div(new Scalar(8))
                .sub(new Scalar(0.25))
                .reshape(channels, 2, 3);
    PngImage encoded = PngImage.of(image);
    assertThat("%dx%dx%d".formatted(encoded.height(), encoded.width(), encoded.channels()))
        .isEqualTo(shape);
    Raster raster =
        requireNonNull(ImageIO.read(new ByteArrayInputStream(encoded.png()))).getRaster();
    int[] read = raster.getPixels(0, 0, 3, 2, (int[]) null);
    byte[] bytes = new byte[read.length];
    for (int i = 0; i < read.length; i++) {
      bytes[i] = (byte) read[i];
    }
    assertThat(HexFormat.of().formatHex(bytes)).isEqualTo(pixels);
    byte[] record = written(writer -> writer.image("a", image, 0));
    assertThat(HexFormat.of().formatHex(record)).contains(HexFormat.of().formatHex(encoded.png()));
  }

  private interface Adds {
    void to(SummaryWriter writer);
  }

  /** Returns the last record of the event file. */
  private byte[] written(Adds adds) throws IOException {
    try (SummaryWriter writer = SummaryWriter.open(folder, Long.MAX_VALUE, CLOCK)) {
      adds.to(writer);
    }
    List<byte[]> records = records(eventFiles(folder).get(0));
    return records.get(records.size() - 1);
  }

  static List<Path> eventFiles(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(path -> path.getFileName().toString().startsWith("events."))
          .sorted()
          .toList();
    }
  }

  static List<byte[]> records(Path events) throws IOException {
    ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(events)).order(ByteOrder.LITTLE_ENDIAN);
    List<byte[]> records = new ArrayList<>();
    while (all.hasRemaining()) {
      byte[] record = new byte[Math.toIntExact(all.getLong(all.position())) + 16];
      all.get(record);
      records.add(record);
    }
    return records;
  }

  private static double number(String text) {
    return switch (text) {
      case "nan" -> Double.NaN;
      case "inf" -> Double.POSITIVE_INFINITY;
      default -> Double.parseDouble(text);
    };
  }

  private static Tensor tensor(String name) {
    return switch (name) {
      case "eighths" ->
          torch
              .arange(new Scalar(-20), new Scalar(44))
              .to(torch.ScalarType.Float)
              .div(new Scalar(8));
      case "one" -> Tensor.create(new double[] {0.5});
      case "zeros" -> torch.zeros(3, 2);
      case "large" -> Tensor.create(new float[] {0x1p40f, -0x1p20f, 0, 1});
      case "integers" -> torch.arange(new Scalar(-3), new Scalar(9)).reshape(3, 4);
      case "half" -> Tensor.create(new float[] {0.25f, -0.25f, 1.5f}).to(torch.ScalarType.Half);
      default -> throw new IllegalArgumentException(name);
    };
  }
}
