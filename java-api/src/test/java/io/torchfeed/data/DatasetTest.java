// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.ObjectDataset;
import io.torchfeed.data.source.SampleEncoder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of datasets written in Java, and of resuming passes. */
class DatasetTest {
  private static List<Long> labels(Batches batches) {
    List<Long> labels = new ArrayList<>();
    try (batches) {
      for (Batch batch : batches) {
        for (long label : Rows.longs(batch.tensor(1))) {
          labels.add(label);
        }
      }
    }
    return labels;
  }

  private static List<Long> labels(Dataset dataset) {
    try (DataLoader loader = DataLoader.over(dataset).batchSize(3).build()) {
      return labels(loader.epoch(0));
    }
  }

  @Test
  void subsetsAndConcatenationsReadTheRightRows() {
    Dataset rows = new RowData.Samples(10);
    Dataset empty = new RowData.Samples(0);
    assertThat(labels(rows.subset(7, 7, 2))).containsExactly(7L, 7L, 2L);
    assertThat(labels(Dataset.concat(List.of(empty, rows.subset(4, 5), empty, rows, empty))))
        .containsExactly(4L, 5L, 0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L);
    assertThat(labels(empty)).isEmpty();
    assertThatIllegalArgumentException().isThrownBy(() -> rows.subset(10));
    assertThatIllegalArgumentException().isThrownBy(() -> rows.subset(-1));
    assertThatIllegalArgumentException().isThrownBy(() -> Dataset.concat(List.of()));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dataset.concat(List.of(rows, texts())))
        .withMessageContaining("got [uint8 [2], int64 []] in number 1");
  }

  private static Dataset texts() {
    ObjectDataset<String> names =
        new ObjectDataset<>() {
          @Override
          public long size() {
            return 3;
          }

          @Override
          public String get(long index) {
            return "n" + index;
          }
        };
    return names
        .map(name -> name.replace('n', 'N'))
        .encode(
            new SampleEncoder<String>() {
              @Override
              public List<RowSpec> columns() {
                return List.of(RowSpec.of(DType.UINT8, 2), RowSpec.of(DType.INT64));
              }

              @Override
              public void write(String name, SampleWriter sample) {
                for (int i = 0; i < name.length(); i++) {
                  sample.putByte(0, (byte) name.charAt(i));
                }
                sample.putLong(1, sample.index());
              }
            });
  }

  @Test
  void objectsAreMappedAndEncoded() {
    try (DataLoader loader = DataLoader.over(texts()).batchSize(3).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      byte[] text = new byte[6];
      batch.tensor(0).data_ptr_byte().get(text);
      assertThat(text).isEqualTo(new byte[] {'N', '0', 'N', '1', 'N', '2'});
      assertThat(Rows.longs(batch.tensor(1))).containsExactly(0, 1, 2);
    }
  }

  /** A dataset whose column 0 is unused and whose column 1 is random. */
  private record Random(long size) implements Dataset {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.FLOAT32, 0), RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.random().nextLong();
      sample.putLong(1, sample.random().nextLong());
    }
  }

  private static List<Long> random(long seed, int workers, long epoch) {
    try (DataLoader loader =
        DataLoader.over(new Random(20)).batchSize(3).workers(workers).seed(seed).build()) {
      return labels(loader.epoch(epoch));
    }
  }

  @Test
  void randomNumbersDependOnlyOnSeedEpochAndIndex() {
    List<Long> numbers = random(1, 0, 0);
    assertThat(numbers).doesNotHaveDuplicates();
    assertThat(random(1, 3, 0)).isEqualTo(numbers);
    assertThat(random(2, 0, 0)).doesNotContainAnyElementsOf(numbers);
    assertThat(random(1, 0, 1)).doesNotContainAnyElementsOf(numbers);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void aPassResumesAtEachBatchWithOtherWorkersAndTheOtherEngine(int workers) {
    ShuffledSampler order = ShuffledSampler.of(23, 7);
    try (TensorDataset tensors = Rows.dataset(23);
        DataLoader first =
            DataLoader.over(tensors).sampler(order).batchSize(4).workers(workers).build();
        DataLoader second =
            DataLoader.over(new RowData.Samples(23)).sampler(order).batchSize(4).build()) {
      List<Long> all = labels(first.epoch(3));
      for (int taken = 0; taken <= 6; taken++) {
        LoaderState state;
        try (Batches batches = first.epoch(3)) {
          for (int i = 0; i < taken; i++) {
            batches.next();
          }
          state = LoaderState.fromJson(batches.state().toJson());
        }
        int done = Math.min(23, 4 * taken);
        assertThat(labels(second.resume(state))).isEqualTo(all.subList(done, 23));
        try (Batches resumed = second.resume(state)) {
          assertThat(resumed.state()).isEqualTo(state);
          assertThat(resumed.position()).isEqualTo(taken == 6 ? 0 : taken);
        }
      }
    }
  }

  @Test
  void theRemainderIsDividedOverOtherRanksAndBatchSizes() {
    Dataset rows = new RowData.Samples(23);
    List<Long> seen = new ArrayList<>();
    LoaderState state = null;
    for (int rank = 0; rank < 2; rank++) {
      try (DataLoader loader =
              DataLoader.over(rows)
                  .sampler(ShuffledSampler.of(23, new Part(2, rank), 7))
                  .batchSize(4)
                  .build();
          Batches batches = loader.epoch(0)) {
        Arrays.stream(Rows.longs(batches.next().tensor(1))).forEach(seen::add);
        state = batches.state();
      }
    }
    for (int rank = 0; rank < 3; rank++) {
      try (DataLoader loader =
              DataLoader.over(rows)
                  .sampler(ShuffledSampler.of(23, new Part(3, rank), 7))
                  .batchSize(3)
                  .build();
          Batches batches = loader.resume(requireNonNull(state))) {
        for (Batch batch : batches) {
          Arrays.stream(Rows.longs(batch.tensor(1))).forEach(seen::add);
        }
      }
    }
    assertThat(seen).containsExactlyInAnyOrderElementsOf(labels(rows));
  }

  @Test
  void aFinishedEpochResumesAtTheNextOne() {
    ShuffledSampler order = ShuffledSampler.of(7, 1);
    try (DataLoader loader =
        DataLoader.over(new RowData.Samples(7)).sampler(order).batchSize(4).build()) {
      LoaderState state;
      try (Batches batches = loader.epoch(0)) {
        batches.next();
        batches.next();
        assertThat(batches.state().finished()).isFalse();
        assertThat(batches.hasNext()).isFalse();
        state = batches.state();
      }
      assertThat(state.finished()).isTrue();
      assertThat(labels(loader.resume(state))).isEqualTo(labels(loader.epoch(1)));
      try (DataLoader other =
          DataLoader.over(new RowData.Samples(7)).sampler(ShuffledSampler.of(7, 2)).build()) {
        assertThatExceptionOfType(ResumeMismatchException.class)
            .isThrownBy(() -> other.resume(state));
      }
    }
  }

  @Test
  void incompatibleOptionsAreRefused() {
    Dataset rows = new RowData.Samples(3);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DataLoader.over(rows).workers(0).timeout(Duration.ofSeconds(1)).build())
        .withMessage("timeout needs workers, got workers 0 and timeout PT1S");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DataLoader.over(rows).timeout(Duration.ZERO).build())
        .withMessageContaining("longer than 0");
    try (TensorDataset tensors = Rows.dataset(3)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DataLoader.over(tensors).seed(3).build())
          .withMessageContaining("seed is for datasets implemented in Java")
          .withMessageEndingWith("to shuffle, pass a ShuffledSampler as sampler");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FailurePolicy.report().afterRetries(-1))
        .withMessageContaining("got -1");
  }
}
