// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.memory.DType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokenWriterTest {
  private static final Path GOLDEN = Path.of("src/test/resources/golden/tokens");

  @ParameterizedTest
  @ValueSource(strings = {"megatron_uint16", "megatron_int32"})
  void filesAreMegatronsButForDocumentsOfSeveralSequences(String name, @TempDir Path folder)
      throws IOException {
    MegatronIndex theirs = MegatronIndex.read(GOLDEN.resolve(name + ".bin"));
    List<Long> ids = new ArrayList<>();
    TokenBytes.scan(theirs.part(), (position, id) -> ids.add(id));
    List<long[]> documents = new ArrayList<>();
    for (int i = 0; i + 1 < theirs.begins().length; i++) {
      documents.add(
          ids.subList((int) theirs.begins()[i], (int) theirs.begins()[i + 1]).stream()
              .mapToLong(Long::longValue)
              .toArray());
    }
    Path binary = folder.resolve("ours.bin");
    assertThat(TokenWriter.write(binary, theirs.part().dtype(), documents.stream())).isEqualTo(10);
    assertThat(binary).hasSameBinaryContentAs(GOLDEN.resolve(name + ".bin"));
    assertThat(MegatronIndex.read(binary).begins()).isEqualTo(theirs.begins());
  }

  @Test
  void textsGoThroughATokenizer(@TempDir Path folder) throws IOException {
    Path binary = folder.resolve("texts.bin");
    long written =
        TokenWriter.write(
            binary,
            DType.UINT8,
            Stream.of("ab", "", "c"),
            text -> text.chars().asLongStream().toArray());
    assertThat(written).isEqualTo(3);
    assertThat(binary).hasContent("abc");
    assertThat(MegatronIndex.read(binary).begins()).containsExactly(0, 2, 2, 3);
  }

  @ParameterizedTest
  @EnumSource(names = {"UINT8", "UINT16", "INT16", "INT32"})
  void idsBeyondTheTypeAreRefusedAndTheOldFileStays(DType dtype, @TempDir Path folder)
      throws IOException {
    Path binary = folder.resolve("data.bin");
    long[] range = TokenBytes.range(dtype);
    TokenWriter.write(binary, dtype, Stream.of(range));
    List<Long> read = new ArrayList<>();
    TokenBytes.scan(MegatronIndex.read(binary).part(), (position, id) -> read.add(id));
    assertThat(read).containsExactly(range[0], range[1]);
    for (long wrong : new long[] {range[0] - 1, range[1] + 1}) {
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> TokenWriter.write(binary, dtype, Stream.of(new long[1], new long[] {0, wrong})))
          .withMessageStartingWith("token 1 of document 1 must be in [")
          .withMessageEndingWith("got " + wrong);
      assertThat(Files.size(binary)).isEqualTo(2L * dtype.bytes());
    }
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files).containsExactlyInAnyOrder(binary, MegatronIndex.file(binary));
    }
  }

  @Test
  void linksStayAndBothFilesBehindThemAreReplaced(@TempDir Path folder) throws IOException {
    Path real = Files.createDirectory(folder.resolve("real"));
    TokenWriter.write(
        real.resolve("a.bin"), DType.UINT8, Stream.of(new long[] {1, 2}, new long[] {3, 4}));
    for (String name : List.of("a.bin", "a.idx")) {
      Files.createSymbolicLink(folder.resolve(name), real.resolve(name));
    }
    TokenWriter.write(
        folder.resolve("a.bin"), DType.UINT8, Stream.of(new long[] {5}, new long[] {6, 7, 8}));
    assertThat(folder.resolve("a.idx")).isSymbolicLink();
    assertThat(MegatronIndex.read(real.resolve("a.bin")).begins()).containsExactly(0, 1, 4);
    try (Stream<Path> files = Files.list(real)) {
      assertThat(files).hasSize(2);
    }
  }

  @Test
  void anIndexThatCannotBeWrittenLeavesBothOldFiles(@TempDir Path folder) throws IOException {
    Path binary = folder.resolve("a.bin");
    TokenWriter.write(binary, DType.UINT8, Stream.of(new long[] {1, 2}));
    Files.createDirectory(folder.resolve("a.idx.next")); // in the way of the new one
    assertThatIOException()
        .isThrownBy(() -> TokenWriter.write(binary, DType.UINT8, Stream.of(new long[] {3})));
    assertThat(TokenFile.megatron(binary).tokens()).isEqualTo(2);
  }

  @Test
  void unknownTypesAndNamesAreRefused(@TempDir Path folder) {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> TokenWriter.write(folder.resolve("a.bin"), DType.UINT32, Stream.of(new long[1])))
        .withMessage("dtype must be UINT8, UINT16, INT16, INT32 or INT64, got UINT32");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> TokenWriter.write(folder.resolve("a.txt"), DType.INT32, Stream.of(new long[1])))
        .withMessageContaining("must be a file whose name ends in .bin");
  }
}
