// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.NativeBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;

class NativeBytesTest {
  private static final long PIECE = 1 << 20;
  private static final Pattern COMMENTS = Pattern.compile("(?s:/\\*.*?\\*/)|//.*");
  private static final Pattern BUFFER = Pattern.compile("\\bas(Byte)?Buffer\\b");

  /** JavaCPP cuts buffers at 2 GiB without an error; NativeBytes compares their sizes. */
  @Test
  void nativeMemoryBecomesBuffersInOnePlace() throws IOException {
    List<Path> makers = new ArrayList<>();
    for (String folder :
        List.of("src", "spark/src", "parquet/src", "../native/src/main", "../examples")) {
      try (Stream<Path> files = Files.walk(Path.of(folder))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
          String code = COMMENTS.matcher(Files.readString(file)).replaceAll("");
          if (BUFFER.matcher(code).find()) {
            makers.add(file.getFileName());
          }
        }
      }
    }
    assertThat(makers).containsExactly(Path.of("NativeBytes.java"));
  }

  @Test
  void aBufferBeginsBehindThePositionOfThePointer() {
    try (LongPointer numbers = new LongPointer(7, 8, 9, 10)) {
      ByteBuffer bytes = NativeBytes.buffer(numbers.position(1), Long.BYTES, 2 * Long.BYTES);
      assertThat(bytes.order()).isEqualTo(ByteOrder.nativeOrder());
      assertThat(bytes.capacity()).isEqualTo(2 * Long.BYTES);
      assertThat(bytes.getLong()).isEqualTo(9);
      assertThat(bytes.putLong(5).hasRemaining()).isFalse();
      assertThat(numbers.get(2)).isEqualTo(5);
    }
  }

  @Test
  void theBufferOfNoBytesNeedsNoMemory() {
    assertThat(NativeBytes.buffer(new Pointer(), 0, 0).capacity()).isZero();
    NativeBytes.forEach(new Pointer(), 0, piece -> piece.get(0));
  }

  @Test
  void aSizeThatNoBufferHasIsRefused() {
    try (BytePointer one = new BytePointer(1)) {
      for (long bytes : new long[] {-1, 1L << 31, 1L << 32}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> NativeBytes.buffer(one, 0, bytes))
            .withMessage("a buffer must have in [0, 2^31) bytes, got " + bytes);
      }
    }
  }

  @Test
  void allBytesArePassedInOrder() {
    long size = 2 * PIECE + 3;
    try (BytePointer bytes = new BytePointer(size)) {
      for (long i = 0; i < size; i++) {
        bytes.put(i, (byte) (i / 1000));
      }
      long[] passed = {0};
      NativeBytes.forEach(
          bytes,
          size,
          piece -> {
            while (piece.hasRemaining()) {
              assertThat(piece.get() == (byte) (passed[0]++ / 1000)).isTrue();
            }
          });
      assertThat(passed[0]).isEqualTo(size);
    }
  }

  @Test
  void bytesThatAreLeftAreAnError() {
    try (BytePointer bytes = new BytePointer(PIECE + 3)) {
      assertThatIllegalStateException()
          .isThrownBy(
              () ->
                  NativeBytes.forEach(
                      bytes, PIECE + 3, piece -> piece.position(Math.min(piece.limit(), 1 << 19))))
          .withMessage("only 524288 of 1048579 bytes were used");
    }
  }
}
