// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokenFileTest {
  private static final Path GOLDEN = Path.of("src/test/resources/golden/tokens");
  private static final long END = 50256;

  private static TokenFile open(String name) {
    Path file = GOLDEN.resolve(name + ".bin");
    return switch (name) {
      case "raw_uint16" -> TokenFile.raw(DType.UINT16, file).splitAfter(END);
      case "raw_uint32" -> TokenFile.raw(DType.UINT32, 1024, file);
      default -> TokenFile.megatron(file);
    };
  }

  private static List<String> cases() throws IOException {
    return Files.readAllLines(GOLDEN.resolve("expected.txt"));
  }

  private static long[] longs(Tensor tensor) {
    long[] numbers = new long[(int) tensor.numel()];
    if (numbers.length > 0) {
      new LongPointer(tensor.contiguous().data_ptr_long()).get(numbers);
    }
    return numbers;
  }

  /** Returns a column of all samples in order. */
  private static long[] rows(DataLoaderBuilder builder, int column) {
    LongStream.Builder all = LongStream.builder();
    try (DataLoader loader = builder.batchSize(3).workers(2).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        LongStream.of(longs(batch.tensor(column))).forEach(all);
      }
    }
    return all.build().toArray();
  }

  private static long[] rows(NativeDataset windows) {
    try (windows) {
      return rows(DataLoader.over(windows), 0);
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void samplesArePythons(String line) {
    String[] fields = line.split(" ", -1);
    TokenFile tokens = open(fields[0]);
    int length = Integer.parseInt(fields[2]);
    long[] ids =
        Arrays.stream(fields)
            .skip(4)
            .filter(field -> !field.isEmpty())
            .mapToLong(Long::parseLong)
            .toArray();
    if (fields[1].equals("packed")) {
      try (PackedTokens packed = tokens.packed(length)) {
        assertThat(packed.size()).isEqualTo(ids.length / length);
        int column = List.of("tokens", "targets", "documents", "positions").indexOf(fields[3]);
        assertThat(rows(DataLoader.over(packed), column)).isEqualTo(ids);
        assertThat(packed.fill())
            .isEqualTo((double) tokens.tokens() / (double) (packed.size() * length));
      }
      return;
    }
    int stride = Integer.parseInt(fields[3]);
    NativeDataset windows =
        fields[1].equals("windows")
            ? tokens.windows(length, stride)
            : tokens.documentWindows(length, stride);
    assertThat(windows.columns()).containsExactly(RowSpec.of("tokens", DType.INT64, length));
    assertThat(rows(windows)).isEqualTo(ids);
  }

  @Test
  void eachTokenIsATargetOnceInWindowsOfDefaultStride() {
    TokenFile tokens = open("raw_uint16");
    try (NativeDataset windows = tokens.windows(8)) {
      long[] all = rows(DataLoader.over(windows), 0);
      for (int i = 8; i < all.length; i += 8) {
        assertThat(all[i]).isEqualTo(all[i - 1]);
      }
      assertThat(windows.size()).isEqualTo((tokens.tokens() - 1) / 7);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5, 8})
  void windowsDoNotCrossFiles(int stride, @TempDir Path folder) throws IOException {
    Path first = write(folder.resolve("a.bin"), 0, 9);
    Path empty = write(folder.resolve("b.bin"), 0, 0);
    Path second = write(folder.resolve("c.bin"), 100, 7);
    TokenFile tokens = TokenFile.raw(DType.INT32, first, empty, second);
    assertThat(tokens.tokens()).isEqualTo(16);
    assertThat(tokens.documents()).isEqualTo(3);
    List<Long> expected = new ArrayList<>();
    for (int[] file : new int[][] {{0, 9}, {100, 7}}) {
      for (int at = 0; at + 5 <= file[1]; at += stride) {
        for (int i = 0; i < 5; i++) {
          expected.add((long) file[0] + at + i);
        }
      }
    }
    assertThat(rows(tokens.windows(5, stride))).containsExactly(expected.toArray(Long[]::new));
    assertThat(rows(tokens.documentWindows(5, stride)))
        .containsExactly(expected.toArray(Long[]::new));
    try (PackedTokens packed = tokens.packed(5)) {
      long[] ids = rows(DataLoader.over(packed), 0);
      assertThat(LongStream.of(ids).boxed().toList())
          .containsExactly(
              0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 0L, 100L, 101L, 102L, 103L, 104L, 105L, 106L, 0L,
              0L, 0L);
      long[] targets = rows(DataLoader.over(packed), 1);
      assertThat(targets[4]).isEqualTo(5); // in the next window
      assertThat(targets[8]).isEqualTo(-100);
      assertThat(targets[14]).isEqualTo(105);
    }
  }

  private static Path write(Path file, int first, int count) throws IOException {
    ByteBuffer ids = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      ids.putInt(first + i);
    }
    return Files.write(file, ids.array());
  }

  @Test
  void packedWindowsAreShuffledAndResumed() {
    try (PackedTokens packed = open("megatron_int32").packed(16);
        DataLoader loader =
            DataLoader.over(packed)
                .sampler(ShuffledSampler.of(packed.size(), 5))
                .batchSize(2)
                .build()) {
      List<List<Long>> all = new ArrayList<>();
      try (Batches batches = loader.epoch(3)) {
        for (Batch batch : batches) {
          all.add(LongStream.of(longs(batch.tensor("tokens"))).boxed().toList());
        }
      }
      Map<Integer, List<List<Long>>> resumed = new HashMap<>();
      for (int after = 1; after < all.size(); after++) {
        try (Batches batches = loader.epoch(3)) {
          for (int i = 0; i < after; i++) {
            batches.next();
          }
          List<List<Long>> rest = new ArrayList<>();
          try (Batches others = loader.resume(batches.state())) {
            others.forEach(
                batch -> rest.add(LongStream.of(longs(batch.tensor(0))).boxed().toList()));
          }
          resumed.put(after, rest);
        }
      }
      resumed.forEach((after, rest) -> assertThat(rest).isEqualTo(all.subList(after, all.size())));
      assertThat(resumed).isNotEmpty();
    }
  }

  @Test
  void wrongNumbersAndFilesAreRefused(@TempDir Path folder) throws IOException {
    Path odd = Files.write(folder.resolve("odd.bin"), new byte[5]);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT16, odd))
        .withMessage(
            odd
                + " must have whole ids of UINT16, 2 bytes each, behind 0 bytes, got a file of 5"
                + " bytes");
    assertThat(TokenFile.raw(DType.UINT16, 1, odd).tokens()).isEqualTo(2);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT16, 6, odd))
        .withMessageContaining("behind 6 bytes, got a file of 5 bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.FLOAT32, odd))
        .withMessageStartingWith("dtype must be one of [UINT8, UINT16");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT16))
        .withMessage("at least one file of tokens is needed, got none");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT16, -1, odd))
        .withMessage("headerBytes must be at least 0, got -1");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> TokenFile.raw(DType.UINT16, folder.resolve("absent")))
        .withMessageContaining("absent: no such file");
    TokenFile tokens = open("raw_uint16");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokens.splitAfter(65536))
        .withMessage("endToken must be in [0, 65535] to be an id of UINT16, got 65536");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokens.windows(1))
        .withMessage("length must be at least 2, got 1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokens.windows(4, 0))
        .withMessage("stride must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokens.documentWindows(0, 1))
        .withMessage("length must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokens.packed(0))
        .withMessage("length must be at least 1, got 0");
  }

  @Test
  void filesOfAnotherFormatAreRefused(@TempDir Path folder) throws IOException {
    Path numpy = folder.resolve("tokens.npy");
    byte[] array = new byte[128 + 6];
    System.arraycopy(
        new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0}, 0, array, 0, 10);
    array[129] = 1;
    Files.write(numpy, array);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT16, numpy))
        .withMessage(
            numpy
                + " must have nothing but ids, got an npy file of numpy.save with a header of 128"
                + " bytes; read it by TokenFile.raw(DType.UINT16, 128, file), with the type of its"
                + " array");
    assertThat(TokenFile.raw(DType.UINT16, 128, numpy).tokens()).isEqualTo(3);
    array[6] = 2;
    Files.write(numpy, array);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT16, numpy))
        .withMessageContaining("with a header of 130 bytes");
    Path pair = folder.resolve("pair.bin");
    TokenWriter.write(pair, DType.UINT16, Stream.of(new long[] {1, 2}));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT8, folder.resolve("pair.idx")))
        .withMessageContaining("got the index of a file of Megatron-LM; open the .bin file by");
    Path pointer = folder.resolve("pointer.bin");
    Files.writeString(pointer, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenFile.raw(DType.UINT8, pointer))
        .withMessageContaining("got a Git LFS pointer in the place of the file; get the file by");
    for (String text : List.of("", "\u001f\u008b", "PK\3\4", "<html>", "\u0093NUMP")) {
      Path ids = folder.resolve("ids.bin");
      Files.write(ids, text.getBytes(StandardCharsets.ISO_8859_1));
      assertThat(TokenFile.raw(DType.UINT8, ids).tokens()).isEqualTo(text.length());
    }
  }

  @Test
  void filesThatChangeAreNoticed(@TempDir Path folder) throws IOException {
    Path file = write(folder.resolve("a.bin"), 0, 100);
    TokenFile tokens = TokenFile.raw(DType.INT32, file);
    PackedTokens packed = tokens.packed(10);
    write(file, 0, 50);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokens.windows(11))
        .withMessage("[%s] must not change, but have 4 windows now, and had 9".formatted(file));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokens.packed(10))
        .withMessageContaining("must not change, but has 50 tokens now, and had 100");
    try (packed;
        DataLoader loader = DataLoader.over(packed).build();
        Batches batches = loader.epoch(0)) {
      for (int i = 0; i < 4; i++) {
        assertThat(batches.next().size()).isEqualTo(1);
      }
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withStackTraceContaining("it ends here");
    }
    packed.close();
    try (DataLoader loader = DataLoader.over(packed).build();
        Batches batches = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withStackTraceContaining("the packed tokens of " + file + " are closed");
    }
  }

  @Test
  void tokensDescribeThemselves() {
    TokenFile tokens = open("megatron_uint16");
    assertThat(tokens)
        .hasToString(
            "142 tokens of UINT16 in 10 documents of " + GOLDEN.resolve("megatron_uint16.bin"));
    assertThat(tokens.dtype()).isEqualTo(DType.UINT16);
    assertThat(Collections.nCopies(1, tokens.documents())).containsExactly(10);
  }
}
