// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.examples.common.CommandException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IdxTest {
  @Test
  void dimensionsAndValuesComeFromTheFile(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("x");
    Files.write(file, new byte[] {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, (byte) 255});
    Idx idx = Idx.map(file);
    assertThat(idx.dimensions()).containsExactly(2, 3);
    assertThat(idx.values().remaining()).isEqualTo(6);
    assertThat(idx.values().get(5)).isEqualTo((byte) 255);
  }

  @ParameterizedTest
  @CsvSource({
    "0 0, shorter than its 4-byte magic number",
    "0 0 9 1 0 0 0 0, has magic number 0x00000901",
    "0 0 8 0, has magic number 0x00000800",
    "0 0 8 2 0 0 0 1, ends within its header",
    "0 0 8 1 0 0 0 3 7 7, holds 2 values; its header says 3 values",
    "0 0 8 1 0 0 0 1 7 7, holds 2 values; its header says 1 values",
    "0 0 8 1 128 0 0 0, has a negative dimension"
  })
  void aMalformedFileIsRejectedByName(String bytes, String message) {
    String[] cells = bytes.split(" ", -1);
    ByteBuffer buffer = ByteBuffer.allocate(cells.length);
    for (String cell : cells) {
      buffer.put((byte) Integer.parseInt(cell));
    }
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> Idx.parse("some-file", buffer.flip()))
        .withMessageContaining("some-file")
        .withMessageContaining(message);
  }
}
