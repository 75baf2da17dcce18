// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.RowTransform;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class RowTransformTest {
  private static final int SIZE = 9;
  private static final float SCALE = 1f / 255f;
  private static final float[] MEAN = {0.49f, 0.48f, 0.45f};
  private static final float[] STD = {0.25f, 0.24f, 0.26f};

  private static Tensor bytes() {
    return torch.arange(new Scalar(SIZE * 3 * 8 * 6)).to(ScalarType.Byte).view(SIZE, 3, 8, 6);
  }

  private static Tensor channels(float... numbers) {
    return Tensor.create(numbers).view(numbers.length, 1, 1);
  }

  private static RowTransform normalized(RowTransform.Builder builder) {
    return builder.scale(SCALE).normalize(MEAN, STD).build();
  }

  private static Tensor expected(Tensor bytes) {
    return bytes
        .to(ScalarType.Float)
        .mul(new Scalar((double) SCALE))
        .sub(channels(MEAN))
        .div(channels(STD));
  }

  /** Returns all rows of column 0, in the order of their indices. */
  private static Tensor rows(NativeDataset data, int workers, boolean inJava) {
    DataLoaderBuilder builder =
        DataLoader.over(data)
            .sampler(ShuffledSampler.of(data.size(), 3))
            .batchSize(4)
            .workers(workers);
    if (inJava) { // JVM threads that gather
      builder.onFailure(FailurePolicy.skipSample());
    }
    Tensor[] all = new Tensor[(int) data.size()];
    try (DataLoader loader = builder.build();
        Batches batches = loader.epoch(1)) {
      for (Batch batch : batches) {
        for (int i = 0; i < batch.size(); i++) {
          all[(int) batch.indices()[i]] = batch.tensor(0).select(0, i).clone();
        }
      }
    }
    return torch.stack(new org.bytedeco.pytorch.TensorVector(all));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void rowsEqualTorchs(int workers) {
    Tensor bytes = bytes();
    RowTransform transform = normalized(RowTransform.builder().crop(2, -1, 7, 6));
    Tensor padded = torch.constant_pad_nd(bytes, 1, 0, 0, 1).narrow(2, 2, 7).narrow(3, 0, 6);
    try (TensorDataset data = TensorDataset.of(bytes, torch.arange(new Scalar(SIZE)));
        NativeDataset changed = data.transform(0, transform)) {
      assertThat(changed.columns())
          .containsExactly(RowSpec.of(DType.FLOAT32, 3, 7, 6), RowSpec.of(DType.INT64));
      assertThat(rows(changed, workers, false).equal(expected(padded))).isTrue();
      assertThat(rows(changed, workers, true).equal(expected(padded))).isTrue();
      assertThat(rows(data, workers, false).equal(bytes)).isTrue();
    }
  }

  @Test
  void filesSubsetsAndConcatenationsAreTransformed(@TempDir Path folder) throws IOException {
    Tensor bytes = bytes();
    byte[] content = new byte[(int) bytes.numel()];
    new BytePointer(bytes.data_ptr()).get(content);
    Path file = Files.write(folder.resolve("rows"), content);
    RowTransform transform = normalized(RowTransform.builder());
    try (FileDataset files =
            FileDataset.of(FileColumn.raw(RowLayout.of(DType.UINT8, 3, 8, 6), file));
        NativeDataset some = files.subset(2, 0, 8);
        NativeDataset both = NativeDataset.concat(List.of(some, files));
        NativeDataset changed = both.transform(0, transform)) {
      Tensor order = Tensor.create(2L, 0L, 8L, 0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
      assertThat(rows(changed, 1, false).equal(expected(bytes.index_select(0, order)))).isTrue();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"UINT16", "UINT32"})
  void unsignedNumbersStayPositive(DType dtype, @TempDir Path folder) throws IOException {
    byte[] content = new byte[5 * dtype.bytes()];
    Arrays.fill(content, dtype.bytes(), 2 * dtype.bytes(), (byte) -1);
    content[3 * dtype.bytes() - 1] = (byte) 0x80;
    long most = dtype == DType.UINT16 ? 0xffff : 0xffffffffL;
    Path file = Files.write(folder.resolve("rows"), content);
    for (DType to : new DType[] {DType.INT64, DType.FLOAT32}) {
      try (FileDataset files = FileDataset.of(FileColumn.raw(RowLayout.of(dtype, 5), file));
          NativeDataset cast = files.transform(0, RowTransform.builder().cast(to).build());
          DataLoader loader = DataLoader.over(cast).build();
          Batches batches = loader.epoch(0)) {
        Tensor numbers = batches.next().tensor(0);
        assertThat(numbers.scalar_type().intern()).isEqualTo(to.scalarType());
        Tensor expected = Tensor.create(0L, most, (most + 1) / 2, 0L, 0L).to(to.scalarType());
        assertThat(numbers.equal(expected.view(1, 5))).isTrue();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT16", "BFLOAT16"})
  void numbersAreRoundedToSixteenBits(DType dtype) {
    Tensor bytes = bytes();
    RowTransform transform =
        RowTransform.builder().scale(SCALE).normalize(MEAN, STD).cast(dtype).build();
    try (TensorDataset data = TensorDataset.of(bytes);
        NativeDataset changed = data.transform(0, transform)) {
      assertThat(changed.columns()).containsExactly(RowSpec.of(dtype, 3, 8, 6));
      assertThat(rows(changed, 1, false).equal(expected(bytes).to(dtype.scalarType()))).isTrue();
    }
  }

  /** Returns the numbers of an epoch. */
  private static List<Object> numbers(NativeDataset data, long seed, int workers, long epoch) {
    List<Object> numbers = new ArrayList<>();
    try (DataLoader loader =
            DataLoader.over(data).batchSize(4).seed(seed).workers(workers).build();
        Batches batches = loader.epoch(epoch)) {
      for (Batch batch : batches) {
        byte[] pixels = new byte[(int) batch.tensor(0).numel()];
        new BytePointer(batch.tensor(0).data_ptr()).get(pixels);
        numbers.add(pixels);
      }
    }
    return numbers;
  }

  @Test
  void randomStepsDependOnSeedEpochAndIndexAlone() {
    RowTransform random = RowTransform.builder().randomCrop(8, 6, 2).horizontalFlip(0.5).build();
    assertThat(random.isRandom()).isTrue();
    try (TensorDataset data = TensorDataset.of(bytes());
        NativeDataset changed = data.transform(0, random)) {
      List<Object> first = numbers(changed, 5, 0, 1);
      assertThat(numbers(changed, 5, 2, 1)).usingRecursiveComparison().isEqualTo(first);
      assertThat((byte[]) numbers(changed, 5, 0, 2).get(0)).isNotEqualTo(first.get(0));
      assertThat((byte[]) numbers(changed, 6, 0, 1).get(0)).isNotEqualTo(first.get(0));
    }
  }

  @Test
  void stackedTransformsDrawDifferentNumbersAndColumnsTheSame() {
    Tensor rows = torch.arange(new Scalar(200)).view(100, 1, 2);
    RowTransform flip = RowTransform.builder().horizontalFlip(0.5).build();
    try (TensorDataset data = TensorDataset.of(rows, rows);
        NativeDataset one = data.transform(0, flip);
        NativeDataset both = one.transform(1, flip);
        NativeDataset two = one.transform(0, flip);
        DataLoader same = DataLoader.over(both).batchSize(100).seed(1).build();
        DataLoader stacked = DataLoader.over(two).batchSize(100).seed(1).build();
        Batches first = same.epoch(0);
        Batches second = stacked.epoch(0)) {
      Batch columns = first.next();
      assertThat(columns.tensor(0).equal(columns.tensor(1))).isTrue();
      assertThat(columns.tensor(0).equal(rows)).isFalse();
      long kept = second.next().tensor(0).eq(rows).all(new long[] {1, 2}).sum().item_long();
      assertThat(kept).isBetween(30L, 70L);
    }
  }

  @Test
  void aTransformOutlivesItsDatasetAndNeedsItOpen() {
    RowTransform cast = RowTransform.builder().cast(DType.INT64).build();
    TensorDataset data = TensorDataset.of(bytes());
    try (NativeDataset changed = data.transform(0, cast)) {
      data.close();
      assertThat(rows(changed, 0, false).equal(bytes().to(ScalarType.Long))).isTrue();
      assertThatIllegalStateException().isThrownBy(() -> data.transform(0, cast));
    }
  }

  @Test
  void whatDoesNotFitTheRowsIsRefused() {
    RowSpec image = RowSpec.of(DType.UINT8, 3, 8, 6);
    RowSpec numbers = RowSpec.of(DType.FLOAT32, 5);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> normalized(RowTransform.builder()).row(numbers))
        .withMessage("mean has 3 numbers, so a row must have as many channels, got float32 [5]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RowTransform.builder().horizontalFlip(1).build().row(numbers))
        .withMessageStartingWith("a row must have a height and a width");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RowTransform.builder().randomCrop(9, 6, 0).build().row(image))
        .withMessage(
            "randomCrop of 9x6 must not exceed the row and its padding, 0, got uint8 [3, 8, 6]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RowTransform.builder().cast(DType.INT64).build().row(numbers))
        .withMessage("floats cannot be cast to INT64, got float32 [5]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RowTransform.builder().scale(2).build().row(RowSpec.of(DType.BOOL)))
        .withMessageStartingWith("rows to be transformed must be of [UINT8, UINT16");
    RowTransform huge = RowTransform.builder().centerCrop(1 << 24, 1 << 24).build();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> huge.row(image))
        .withMessage(
            "centerCrop must make rows of fewer than 2^31 bytes, or no longer than before, got uint8"
                + " [3, 16777216, 16777216] of uint8 [3, 8, 6]");
    RowSpec large = RowSpec.of(DType.UINT8, 1 << 16, 1 << 16);
    assertThat(RowTransform.builder().crop(1, 1, 1 << 16, 1 << 16).build().row(large))
        .isEqualTo(large);
    try (TensorDataset data = TensorDataset.of(bytes())) {
      RowTransform scale = RowTransform.builder().scale(2).build();
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> data.transform(1, scale));
    }
  }

  @Test
  void atMostAThousandTransformsFollowOneAnother() {
    RowTransform flip = RowTransform.builder().horizontalFlip(1).build();
    List<NativeDataset> all = new ArrayList<>(List.of(TensorDataset.of(bytes())));
    try {
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> {
                while (all.size() < 1100) {
                  all.add(all.get(all.size() - 1).transform(0, flip));
                }
              })
          .withMessageContaining("rows can be transformed at most 1000 times");
      assertThat(all).hasSize(1001); // with the tensor
    } finally {
      all.forEach(NativeDataset::close);
    }
  }

  @Test
  void wrongOptionsAreRefused() {
    RowTransform.Builder builder = RowTransform.builder();
    assertThatIllegalStateException()
        .isThrownBy(builder::build)
        .withMessage("a transform needs a step");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.crop(0, 0, 0, 4))
        .withMessage("a side must be in [1, 2^24], got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.crop(Integer.MIN_VALUE, 0, 1, 4))
        .withMessage("top and left must be in [-2^24, 2^24], got -2147483648 and 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.randomCrop(1, 1, -1))
        .withMessage("padding must be in [0, 2^24], got -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.horizontalFlip(Double.NaN))
        .withMessage("probability must be in [0, 1], got NaN");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.scale(Float.POSITIVE_INFINITY))
        .withMessage("factor must be finite, got Infinity");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.normalize(MEAN, new float[2]))
        .withMessage("mean and std must have as many numbers, in [1, 65536], got 3 and 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.normalize(new float[1], new float[1]))
        .withMessage("mean and std must be finite, and std not 0, got [0.0] and [0.0]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.cast(DType.INT32))
        .withMessage("dtype must be FLOAT16, BFLOAT16, FLOAT32, FLOAT64 or INT64, got INT32");
    assertThatIllegalStateException()
        .isThrownBy(() -> builder.crop(0, 0, 1, 1).centerCrop(1, 1))
        .withMessage("centerCrop cannot follow crop, which decides the size");
    assertThatIllegalStateException()
        .isThrownBy(() -> builder.scale(2).scale(2))
        .withMessage("scale was called before");
    assertThatIllegalStateException()
        .isThrownBy(() -> builder.cast(DType.FLOAT64).build())
        .withMessage(
            "numbers that are scaled or normalized are FLOAT32, FLOAT16 or BFLOAT16, but are cast"
                + " to FLOAT64");
    RowTransform.Builder built = RowTransform.builder().horizontalFlip(1);
    assertThat(built.build().isRandom()).isTrue();
    assertThatIllegalStateException()
        .isThrownBy(() -> built.scale(1))
        .withMessage("the transform was built before");
  }
}
