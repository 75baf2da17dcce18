// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static io.torchfeed.data.Words.words;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class VariableLengthTest {
  private static DataLoader loader(Dataset data, int workers) {
    return DataLoader.over(data).batchSize(3).workers(workers).build();
  }

  private static void assertHolds(Tensor tensor, long[] shape, long... values) {
    assertThat(tensor.sizes().vec().get()).containsExactly(shape);
    assertThat(Rows.longs(tensor.to(torch.ScalarType.Long).contiguous())).containsExactly(values);
  }

  private static long[] shape(long... sizes) {
    return sizes;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void samplesArePaddedToTheLongestInTheirBatch(int workers) {
    Words data = words(VariableLength.padded(0).withPadding(-1), 5, 2, 0, 3, 1, 1);
    try (DataLoader loader = loader(data, workers)) {
      for (long epoch = 0; epoch < 3; epoch++) { // in reused slabs
        try (Batches batches = loader.epoch(epoch)) {
          Batch batch = batches.next();
          assertHolds(batch.tensor(0), shape(3, 3), 0, 1, -1, -1, -1, -1, 20, 21, 22);
          assertHolds(batch.tensor(1), shape(3), 0, 1, 2);
          assertHolds(batch.tensor(2), shape(3), 2, 0, 3);
          batch = batches.next();
          assertHolds(batch.tensor(0), shape(2, 1), 30, 40);
          assertHolds(batch.tensor(2), shape(2), 1, 1);
        }
      }
    }
  }

  @Test
  void aMaskMarksTheData() {
    Words data = words(VariableLength.masked(0), 5, 2, 0, 3);
    try (DataLoader loader = loader(data, 1);
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertHolds(batch.tensor(0), shape(3, 3), 0, 1, 0, 0, 0, 0, 20, 21, 22);
      assertThat(batch.tensor(2).scalar_type().intern()).isEqualTo(torch.ScalarType.Bool);
      assertHolds(batch.tensor(2), shape(3, 3), 1, 1, 0, 0, 0, 0, 1, 1, 1);
    }
  }

  @Test
  void everyBatchIsPaddedToTheDeclaredLengthOnRequest() {
    Words data = words(VariableLength.masked(0).paddedToMax().withPadding(9), 4, 2, 0);
    try (DataLoader loader = loader(data, 1);
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertHolds(batch.tensor(0), shape(2, 4), 0, 1, 9, 9, 9, 9, 9, 9);
      assertHolds(batch.tensor(2), shape(2, 4), 1, 1, 0, 0, 0, 0, 0, 0);
      assertThat(batch.tensor(0).is_contiguous()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void packedSamplesAreConsecutive(int workers) {
    Words data = words(VariableLength.packed(0), 5, 2, 0, 3, 1, 5, 5, 0);
    try (DataLoader loader = loader(data, workers)) {
      for (long epoch = 0; epoch < 3; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          Batch batch = batches.next();
          assertHolds(batch.tensor(0), shape(5), 0, 1, 20, 21, 22);
          assertHolds(batch.tensor(2), shape(4), 0, 2, 2, 5);
          batch = batches.next();
          assertHolds(batch.tensor(0), shape(11), 30, 40, 41, 42, 43, 44, 50, 51, 52, 53, 54);
          assertHolds(batch.tensor(2), shape(4), 0, 1, 6, 11);
          assertThat(batch.tensor(0).is_contiguous()).isTrue();
          batch = batches.next();
          assertHolds(batch.tensor(0), shape(0));
          assertHolds(batch.tensor(2), shape(2), 0, 0);
        }
      }
      assertThat(loader.stats().rows()).isEqualTo(3 * 7);
      assertThat(loader.stats().bytes()).isEqualTo(3 * Long.BYTES * (16 + 7 + (4 + 4 + 2)));
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.MATCH_NONE,
      names = {"B?FLOAT(8|16).*", "COMPLEX.*"})
  void everyDtypeIsPaddedAndPacked(DType dtype) {
    VariableLength padded = VariableLength.padded(0).withPadding(1);
    boolean isBool = dtype == DType.BOOL; // any nonzero value is true
    try (DataLoader loader = loader(words(dtype, padded, 3, 1, 2), 1);
        Batches batches = loader.epoch(0)) {
      assertHolds(batches.next().tensor(0), shape(2, 2), 0, 1, isBool ? 1 : 10, isBool ? 1 : 11);
    }
    try (DataLoader loader = loader(words(dtype, VariableLength.packed(0), 3, 1, 2), 1);
        Batches batches = loader.epoch(0)) {
      assertHolds(batches.next().tensor(0), shape(3), 0, isBool ? 1 : 10, isBool ? 1 : 11);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "FLOAT16,4000", "BFLOAT16,4000",
    "FLOAT8_E4M3FN,40", "FLOAT8_E4M3FNUZ,48",
    "FLOAT8_E5M2,40", "FLOAT8_E5M2FNUZ,44",
    "FLOAT8_E8M0FNU,80"
  })
  void floatsWrittenAsTheirBitsArePadded(DType dtype, String two) {
    int bits = Integer.parseInt(two, 16);
    Dataset twos =
        new Dataset() {
          @Override
          public long size() {
            return 2;
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(dtype, 3));
          }

          @Override
          public List<VariableLength> variableLengths() {
            return List.of(VariableLength.padded(0).withPadding(1));
          }

          @Override
          public void read(long index, SampleWriter sample) {
            for (long i = 0; i <= index; i++) {
              if (dtype.bytes() == 1) {
                sample.putByte(0, (byte) bits);
              } else {
                sample.putShort(0, (short) bits);
              }
            }
          }
        };
    try (DataLoader loader = loader(twos, 1);
        Batches batches = loader.epoch(0)) {
      Tensor values = batches.next().tensor(0);
      assertThat(values.scalar_type().intern()).isEqualTo(dtype.scalarType());
      assertHolds(values.to(torch.ScalarType.Double), shape(2, 2), 2, 1, 2, 2);
    }
  }

  private static VariableLength of(int column, VariableLength.Form form) {
    return switch (form) {
      case LENGTHS -> VariableLength.padded(column);
      case MASK -> VariableLength.masked(column);
      case OFFSETS -> VariableLength.packed(column);
    };
  }

  @ParameterizedTest
  @EnumSource
  void framesAreNotSplit(VariableLength.Form form) {
    Dataset frames =
        new Dataset() {
          @Override
          public long size() {
            return 3;
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.FLOAT32, 4, 2));
          }

          @Override
          public List<VariableLength> variableLengths() {
            return List.of(of(1, form));
          }

          @Override
          public void read(long index, SampleWriter sample) {
            sample.putLong(0, index);
            sample.put(1, new float[] {1, 2, 3, 4, 5, 6, 7, 8}, 0, index == 2 ? 3 : 4);
          }
        };
    try (DataLoader loader = DataLoader.over(frames).batchSize(2).build();
        Batches batches = loader.epoch(0)) {
      Tensor values = batches.next().tensor(1);
      if (form == VariableLength.Form.OFFSETS) {
        assertHolds(values, shape(4, 2), 1, 2, 3, 4, 1, 2, 3, 4);
      } else {
        assertHolds(values, shape(2, 2, 2), 1, 2, 3, 4, 1, 2, 3, 4);
      }
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining("column 1 takes a multiple of 2 elements of a sample")
          .withMessageContaining("got 3");
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSampleThatIsTooLongIsReportedOrTruncated(VariableLength.Form form) {
    try (DataLoader loader = loader(words(of(0, form), 2, 1, 3, 1), 1);
        Batches batches = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining("sample 1 of epoch 0")
          .withMessageContaining("column 0 takes at most 2 elements")
          .withMessageContaining("got 1 after 2");
    }
    try (DataLoader loader = loader(words(of(0, form).truncated(), 2, 1, 4, 1), 1);
        Batches batches = loader.epoch(0)) {
      Tensor values = batches.next().tensor(0);
      if (form == VariableLength.Form.OFFSETS) {
        assertHolds(values, shape(4), 0, 10, 11, 20);
      } else {
        assertHolds(values, shape(3, 2), 0, 0, 10, 11, 20, 0);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSkippedSampleLeavesNoTrace(VariableLength.Form form) {
    try (DataLoader loader =
            DataLoader.over(words(of(0, form), 90, 1, 77, 2))
                .batchSize(3)
                .onFailure(FailurePolicy.skipSample().afterRetries(1))
                .build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(batch.indices()).containsExactly(0, 2);
      switch (form) {
        case LENGTHS -> assertHolds(batch.tensor(2), shape(2), 1, 2);
        case MASK -> assertHolds(batch.tensor(2), shape(2, 2), 1, 0, 1, 1);
        case OFFSETS -> assertHolds(batch.tensor(2), shape(3), 0, 1, 3);
      }
      if (form == VariableLength.Form.OFFSETS) {
        assertHolds(batch.tensor(0), shape(3), 0, 20, 21);
      } else {
        assertHolds(batch.tensor(0), shape(2, 2), 0, 0, 20, 21);
      }
    }
  }

  @Test
  void aKeptBatchOutlivesItsSlab() {
    Words data = words(VariableLength.packed(0), 5, 2, 0, 3, 1, 1, 1);
    try (DataLoader loader = loader(data, 1);
        Batches batches = loader.epoch(0);
        Batch kept = batches.next().keep()) {
      batches.next();
      assertHolds(kept.tensor(0), shape(5), 0, 1, 20, 21, 22);
      assertHolds(kept.tensor(2), shape(4), 0, 2, 2, 5);
    }
  }

  @Test
  void subsetsAndConcatenationsKeepTheirRules() {
    Words data = words(VariableLength.packed(0), 5, 2, 0, 3);
    Words same = words(VariableLength.packed(0), 5, 2, 0, 3);
    Dataset both = Dataset.concat(List.of(data.subset(2), same));
    try (DataLoader loader = loader(both, 1);
        Batches batches = loader.epoch(0)) {
      assertHolds(batches.next().tensor(2), shape(4), 0, 3, 5, 5);
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dataset.concat(List.of(data, words(VariableLength.padded(0), 5, 1))))
        .withMessageContaining("variable lengths of the first");
  }

  @Test
  void incompatibleRulesAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> VariableLength.packed(0).withPadding(1))
        .withMessageContaining("has no padding");
    assertThatIllegalArgumentException().isThrownBy(() -> VariableLength.packed(0).paddedToMax());
    assertThatIllegalArgumentException().isThrownBy(() -> VariableLength.padded(-1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> loader(words(VariableLength.padded(1), 5, 1), 1))
        .withMessage("column 1 must have a length to vary, got int64 []");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> loader(words(VariableLength.padded(2), 5, 1), 1))
        .withMessageContaining("must be distinct and below 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> loader(words(VariableLength.padded(0).withPadding(0.5), 5, 1), 1))
        .withMessage("padding must be a number that column 0 (int64 [5]) holds, got 0.5");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> loader(words(DType.UINT8, VariableLength.padded(0).withPadding(256), 5, 1), 1));
  }

  @ParameterizedTest
  @CsvSource({
    "UINT16,65535,65536",
    "UINT32,4294967295,4294967296",
    "UINT64,18446744073709549568,18446744073709551616",
    "UINT64,0,-1",
    "UINT64,1,0.5",
    "FLOAT16,65504,65505",
    "BFLOAT16,-Infinity,0.1",
    "FLOAT8_E4M3FN,448,480",
    "FLOAT8_E5M2,NaN,1e9",
    "FLOAT8_E8M0FNU,0.25,0"
  })
  void paddingMustBeANumberOfTheDtype(DType dtype, double good, double bad) {
    VariableLength column = VariableLength.padded(0);
    loader(words(dtype, VariableLength.packed(0), 5, 0), 1).close();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> loader(words(dtype, column.withPadding(bad), 5, 0), 1))
        .withMessageStartingWith("padding must be a number that column 0")
        .withMessageEndingWith("got " + bad);
    try (DataLoader loader = loader(words(dtype, column.withPadding(good).paddedToMax(), 1, 0), 1);
        Batches batches = loader.epoch(0)) {
      Tensor padding = batches.next().tensor(0);
      assertThat(padding.to(torch.ScalarType.Double).item_double()).isEqualTo(Double.valueOf(good));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"3", "2,0,3", "0,0", "1,1,1", "4,40,1,0,9", "5,4,3,2,1,0"})
  void paddingMatchesPadSequence(String lengths) {
    int[] counts = Arrays.stream(lengths.split(",")).mapToInt(Integer::parseInt).toArray();
    Tensor[] samples = new Tensor[counts.length];
    for (int i = 0; i < samples.length; i++) {
      samples[i] = torch.arange(new Scalar(i * 10), new Scalar(i * 10 + counts[i]));
    }
    Tensor expected = torch.pad_sequence(new TensorVector(samples), true, -100, "right");
    Words data = words(VariableLength.padded(0).withPadding(-100), 40, counts);
    try (DataLoader loader = DataLoader.over(data).batchSize(counts.length).build();
        Batches batches = loader.epoch(0)) {
      assertThat(batches.next().tensor(0).equal(expected.to(torch.ScalarType.Long))).isTrue();
    }
  }
}
