// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.memory.DType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MegatronIndexTest {
  private static final int FIRST_LENGTH = 34;

  private final Path folder;
  private final Path binary;
  private final Path index;

  MegatronIndexTest(@TempDir Path folder) {
    this.folder = folder;
    this.binary = folder.resolve("data.bin");
    this.index = folder.resolve("data.idx");
  }

  @BeforeEach
  void writeTwoDocuments() throws IOException {
    long written =
        TokenWriter.write(
            binary, DType.UINT16, Stream.of(new long[] {1, 2, 65535}, new long[] {7}));
    assertThat(written).isEqualTo(2);
  }

  private void refused(String part, Consumer<ByteBuffer> damage) throws IOException {
    ByteBuffer content = ByteBuffer.wrap(Files.readAllBytes(index)).order(ByteOrder.LITTLE_ENDIAN);
    byte[] before = content.array().clone();
    damage.accept(content);
    Files.write(index, content.array());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.megatron(binary))
        .withMessageStartingWith(index + " must ")
        .withMessageContaining(part);
    Files.write(index, before);
  }

  @Test
  void damagedIndexesAreRefusedByName() throws IOException {
    refused("begin with MMIDIDX", content -> content.put(0, (byte) 'm'));
    refused("have version 1, got 2", content -> content.put(9, (byte) 2));
    refused("a type with code 7", content -> content.put(17, (byte) 7));
    refused("a type with code -1", content -> content.put(17, (byte) -1));
    refused("sequences, and as many documents", content -> content.putLong(18, -1));
    refused("sequences, and as many documents", content -> content.putLong(26, 0));
    refused("bytes for 3 sequences and 2 documents", content -> content.putLong(18, 3));
    refused("got byte 0, and a length of -1", content -> content.putInt(FIRST_LENGTH, -1));
    refused("sequence 1 begins at byte 4", content -> content.putInt(FIRST_LENGTH, 2));
    refused("have the 4 tokens", content -> content.putInt(FIRST_LENGTH + 4, 2));
    refused("sequence 1 begins at byte 6", content -> content.putLong(FIRST_LENGTH + 16, 8));
    int documents = FIRST_LENGTH + 8 + 16;
    refused("document 0 at sequence 1", content -> content.putLong(documents, 1));
    refused("document 1 at sequence 3", content -> content.putLong(documents + 8, 3));
    refused("document 1 at sequence -1", content -> content.putLong(documents + 8, -1));
    refused("document 2 at sequence 1", content -> content.putLong(documents + 16, 1));
    assertThat(TokenFile.megatron(binary).documents()).isEqualTo(2);
  }

  @Test
  void anyDamageIsRefusedOrHarmless() throws IOException {
    byte[] whole = Files.readAllBytes(index);
    Random random = new Random(1);
    for (int round = 0; round < 500; round++) {
      byte[] damaged =
          random.nextInt(4) == 0
              ? Arrays.copyOf(whole, random.nextInt(whole.length))
              : whole.clone();
      for (int i = random.nextInt(3); i >= 0 && damaged.length > 0; i--) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
      }
      Files.write(index, damaged);
      try {
        assertThat(TokenFile.megatron(binary).documents()).isBetween(0, 2);
      } catch (IllegalArgumentException e) {
        assertThat(e).hasMessageContaining("data.");
      }
    }
  }

  @Test
  void missingFilesAndOtherTypesAreNamed() throws IOException {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.megatron(folder.resolve("data")))
        .withMessageContaining("must be a file whose name ends in .bin");
    assertThatIllegalArgumentException().isThrownBy(TokenFile::megatron);
    Path wide = folder.resolve("wide.bin");
    TokenWriter.write(wide, DType.INT32, Stream.of(new long[] {1}));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.megatron(binary, wide))
        .withMessage("%s must have ids of UINT16, as %s has, got INT32".formatted(wide, binary));
    Files.delete(index);
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> TokenFile.megatron(binary))
        .withMessageContaining("data.idx");
  }

  @Test
  void aMissingIndexIsNamedWithTheFileThatNeedsIt() throws IOException {
    Files.delete(index);
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> TokenFile.megatron(binary))
        .withMessage(
            binary
                + " needs the index "
                + index
                + " beside it, which does not exist; ids without an index are read by"
                + " TokenFile.raw");
    Files.createDirectory(index);
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> TokenFile.megatron(binary))
        .withMessageStartingWith("cannot read tokens: " + index)
        .satisfies(e -> assertThat(e).message().containsOnlyOnce(index.toString()));
  }
}
