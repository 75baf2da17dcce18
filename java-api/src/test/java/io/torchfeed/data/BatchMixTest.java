// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.GoldenLine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;
import java.util.zip.CRC32;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BatchMixTest {
  private static final int CLASSES = 7;

  /** Returns the images of golden/batch_mixes.py. */
  private static Tensor images(long... shape) {
    int count = (int) Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    float[] numbers = new float[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = ((i * 2654435761L & 0xffffffffL) >> 8) * 0x1p-23f - 1;
    }
    return Tensor.create(numbers, shape);
  }

  private static Tensor labels(long count) {
    return Tensor.create(LongStream.range(0, count).map(i -> i * 3 % CLASSES).toArray());
  }

  private static long checkSum(Tensor tensor) {
    byte[] bytes = new byte[(int) tensor.numel() * Float.BYTES];
    try (BytePointer data = new BytePointer(tensor.data_ptr())) {
      data.get(bytes);
    }
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
  }

  @Test
  void batchesEqualTorchvisions() {
    int lines = 0;
    for (String line : GoldenLine.read("batch_mixes.txt")) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("#")) {
        continue;
      }
      long[] numbers = new long[8];
      boolean adds = words[0].equals("mixup");
      int share = adds ? 5 : 9;
      for (int i = 1; i < share; i++) {
        numbers[i - 1] = Long.parseLong(words[i]);
      }
      Tensor images = images(Arrays.copyOf(numbers, 4));
      double weight = Double.parseDouble(words[share]);
      if (adds) {
        BatchMix.addUp(images, weight);
      } else {
        BatchMix.paste(images, Arrays.copyOfRange(numbers, 4, 8));
      }
      assertThat(checkSum(images)).as(line).isEqualTo(Long.parseLong(words[share + 1]));
      Tensor labels = BatchMix.probabilities(labels(numbers[0]), CLASSES, weight);
      assertThat(checkSum(labels)).as(line).isEqualTo(Long.parseLong(words[share + 2]));
      lines++;
    }
    assertThat(lines).isEqualTo(68);
  }

  private static TensorDataset dataset() {
    return TensorDataset.of(images(20, 3, 8, 8), labels(20), labels(20));
  }

  private static DataLoaderBuilder over(NativeDataset data, BatchMix mix) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(20, 3))
        .batchSize(4)
        .seed(5)
        .transform(mix);
  }

  private static List<Object> numbers(Batches batches) {
    List<Object> all = new ArrayList<>();
    for (Batch batch : batches) {
      assertThat(batch.tensor(0).sizes().vec().get()).containsExactly(4, 3, 8, 8);
      assertThat(batch.tensor(1).sizes().vec().get()).containsExactly(4, CLASSES);
      assertThat(DType.of(batch.tensor(1).scalar_type())).isEqualTo(DType.FLOAT32);
      assertThat(batch.tensor(1).sum().item_double()).isCloseTo(4, within(1e-6));
      all.add(checkSum(batch.tensor(0)));
      all.add(checkSum(batch.tensor(1)));
      all.add(Rows.longs(batch.tensor(2)));
    }
    return all;
  }

  @Test
  void aBatchWithoutSamplesStaysEmpty() {
    Tensor[] empty = {images(2, 3, 4, 4).slice(0, of(0), of(0), 1), labels(0)};
    for (BatchMix mix : List.of(BatchMix.cutMix(1, CLASSES), BatchMix.mixUp(1, CLASSES))) {
      Tensor[] mixed = mix.apply(empty, RandomGenerator.getDefault());
      assertThat(mixed[0].shape()).containsExactly(0, 3, 4, 4);
      assertThat(mixed[1].shape()).containsExactly(0, CLASSES);
    }
  }

  private static LongOptional of(long value) {
    return new LongOptional(value);
  }

  @Test
  void mixesDependOnSeedEpochAndBatchAloneAndSurviveAResume() {
    BatchMix mix = BatchMix.mixUp(0.2, CLASSES).or(BatchMix.cutMix(1, CLASSES));
    try (TensorDataset data = dataset();
        DataLoader inline = over(data, mix).build();
        DataLoader many = over(data, mix).workers(3).build();
        Batches first = inline.epoch(1);
        Batches again = many.epoch(1);
        Batches left = inline.epoch(1)) {
      left.next();
      left.next();
      LoaderState state = left.state();
      List<Object> expected = numbers(first);
      assertThat(numbers(again)).usingRecursiveComparison().isEqualTo(expected);
      try (Batches rest = many.resume(state)) {
        assertThat(numbers(rest))
            .usingRecursiveComparison()
            .isEqualTo(expected.subList(6, expected.size()));
      }
      try (Batches other = many.epoch(2)) {
        assertThat(numbers(other).get(1)).isNotEqualTo(expected.get(1));
      }
    }
  }

  /** Returns the largest probability of the first sample in each batch of some epochs. */
  private static List<Double> weights(BatchMix mix) {
    List<Double> weights = new ArrayList<>();
    try (TensorDataset data = TensorDataset.of(torch.zeros(2, 1, 50, 50), labels(2));
        DataLoader loader = DataLoader.over(data).batchSize(2).seed(5).transform(mix).build()) {
      for (int epoch = 0; epoch < 400; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          weights.add(batches.next().tensor(1).select(0, 0).select(0, 0).item_double());
        }
      }
    }
    return weights;
  }

  @Test
  void weightsHaveTheirDistribution() {
    // Beta(a, a) has the mean 1/2 and the variance 1 / (8 a + 4).
    for (double alpha : new double[] {0.2, 1, 4}) {
      List<Double> weights = weights(BatchMix.mixUp(alpha, CLASSES));
      double mean = weights.stream().mapToDouble(w -> w).average().orElseThrow();
      double variance =
          weights.stream().mapToDouble(w -> (w - mean) * (w - mean)).average().orElseThrow();
      double expected = 1 / (8 * alpha + 4);
      assertThat(mean).isCloseTo(0.5, within(4 * Math.sqrt(expected / 400)));
      assertThat(variance).isCloseTo(expected, within(expected / 4));
    }
    List<Double> cut = weights(BatchMix.cutMix(1, CLASSES));
    assertThat(cut).allMatch(weight -> weight >= 0 && weight <= 1);
    assertThat(cut.stream().mapToDouble(w -> w).average().orElseThrow()).isBetween(0.55, 0.75);
    assertThat(cut.stream().distinct().count()).isGreaterThan(100);
  }

  @Test
  void moreClassesThanTheMemoryHoldsAreRefused() {
    BatchMix mix = BatchMix.cutMix(1, Integer.MAX_VALUE);
    Tensor[] batch = {images(7_000, 1, 1, 1), labels(7_000)};
    assertThatIllegalArgumentException()
        .isThrownBy(() -> mix.apply(batch, RandomGenerator.getDefault()))
        .withMessageStartingWith("mixing 7000 labels of 2147483647 classes takes 300647710580000 b")
        .withMessageNotContaining("frame #");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsNoBatchOfImagesAndLabelsIsRefused(boolean adds) {
    BatchMix mix = adds ? BatchMix.mixUp(1, CLASSES) : BatchMix.cutMix(1, CLASSES);
    RandomGenerator random = RandomGenerator.getDefault();
    for (Tensor wrong :
        List.of(
            labels(2),
            labels(4).to(ScalarType.Int),
            labels(4).view(4, 1),
            torch.one_hot(labels(4), CLASSES))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> mix.apply(new Tensor[] {images(4, 3, 2, 2), wrong}, random))
          .withMessageContaining("int64 labels [B], got Float [4, 3, 2, 2] and ");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> mix.apply(new Tensor[] {torch.empty(4, 3, 0, 2), labels(4)}, random))
        .withMessageContaining("got Float [4, 3, 0, 2] and Long [4]");
    for (long wrong : new long[] {CLASSES, -1}) {
      Tensor labels = Tensor.create(0L, wrong, 1L, 2L);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> mix.apply(new Tensor[] {images(4, 3, 2, 2), labels}, random))
          .withMessage(
              "labels must be at least 0 and less than the number of classes, 7, got " + wrong);
    }
  }

  @Test
  void wrongArgumentsAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BatchMix.mixUp(0, 3))
        .withMessage("alpha must be above 0 and finite as a float, got 0.0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BatchMix.cutMix(1, 0))
        .withMessage("classes must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BatchMix.cutMix(1, 2).or(BatchMix.mixUp(1, 3)))
        .withMessage("both transforms must have the same classes, got 2 and 3");
    Tensor bytes = torch.zeros(2, 3, 4, 4).to(ScalarType.Byte);
    try (TensorDataset data = TensorDataset.of(bytes, labels(2));
        DataLoader loader =
            DataLoader.over(data).batchSize(2).transform(BatchMix.mixUp(1, CLASSES)).build();
        Batches batches = loader.epoch(0)) {
      assertThatIllegalStateException()
          .isThrownBy(batches::next)
          .withMessageContaining("images to be added up must be floats, got Byte; normalize them");
    }
    try (TensorDataset data = TensorDataset.of(torch.zeros(2, 3), labels(2));
        DataLoader loader =
            DataLoader.over(data).batchSize(2).transform(BatchMix.cutMix(1, CLASSES)).build();
        Batches batches = loader.epoch(0)) {
      assertThatIllegalStateException()
          .isThrownBy(batches::next)
          .withMessageContaining("column 0 must have images [B, ..., height, width]");
    }
  }
}
