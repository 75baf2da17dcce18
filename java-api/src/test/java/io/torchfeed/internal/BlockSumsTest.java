// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.BlockSums.Kind;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the digests of a file's blocks. */
class BlockSumsTest {
  private static final int BLOCK = 16 << 20;

  private static List<String> sums(Kind kind, byte[] bytes) {
    BlockSums sums = BlockSums.of(kind);
    sums.add(ByteBuffer.wrap(bytes));
    return sums.finish();
  }

  /** RFC 3720, B.4, has the second value with its bytes in the other order. */
  @Test
  void theSumsAreThoseOfOtherPrograms() {
    byte[] digits = "123456789".getBytes(StandardCharsets.US_ASCII);
    assertThat(sums(Kind.CRC32C, digits)).containsExactly("e3069283");
    assertThat(sums(Kind.CRC32C, new byte[32])).containsExactly("8a9136aa");
    assertThat(sums(Kind.SHA256, digits)).containsExactly(Sha256.hex("123456789"));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 5})
  void eachBlockHasTheSumThatItHasAlone(int size) {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    BlockSums sums = BlockSums.of(Kind.CRC32C);
    for (int at = 0; at < size; at += 7 << 20) {
      ByteBuffer piece = ByteBuffer.wrap(bytes, at, Math.min(7 << 20, size - at));
      sums.add(piece);
      assertThat(piece.hasRemaining()).isFalse();
      sums.add(piece);
    }
    List<String> all = sums.finish();
    assertThat(all).hasSize((int) Kind.CRC32C.blocks(size)).isEqualTo(sums(Kind.CRC32C, bytes));
    for (int i = 0; i < all.size(); i++) {
      byte[] block = Arrays.copyOfRange(bytes, i * BLOCK, Math.min((i + 1) * BLOCK, size));
      assertThat(sums(Kind.CRC32C, block)).containsExactly(all.get(i));
    }
  }

  @Test
  void aSha256IsThatOfAllBytes() {
    byte[] bytes = new byte[2 * BLOCK + 5];
    new Random(1).nextBytes(bytes);
    assertThat(sums(Kind.SHA256, bytes)).containsExactly(Sha256.hex(bytes));
  }

  @ParameterizedTest
  @CsvSource({
    "0,0,0",
    "1,1,1",
    "16777216,1,1",
    "16777217,2,1",
    "2147483648,128,1",
    "4294967297,257,1",
    "9223372036854775807,549755813888,1"
  })
  void theLastBlockMayBeShorter(long bytes, long crcs, long shas) {
    assertThat(Kind.CRC32C.blocks(bytes)).isEqualTo(crcs);
    assertThat(Kind.SHA256.blocks(bytes)).isEqualTo(shas);
  }

  @Test
  void aPlaceIsNamedInFilesOfSeveralBlocks() {
    assertThat(Kind.CRC32C.describe(0, 1)).isEqualTo("CRC-32C");
    assertThat(Kind.CRC32C.describe(257, 300)).isEqualTo("CRC-32C from byte 4311744512 on");
    assertThat(Kind.SHA256.describe(0, 1)).isEqualTo("SHA-256");
  }
}
