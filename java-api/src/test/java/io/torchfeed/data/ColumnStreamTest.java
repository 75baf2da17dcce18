// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams that write several samples in one call. */
class ColumnStreamTest {
  private static final int LENGTH = 23;
  private static final int NO_SAMPLE = -1;

  /** The writing of a call. */
  private interface Write {
    int write(SampleWriter samples, long first, int count);
  }

  /**
   * Three shards of 23 samples: the number of the sample, and twice it and four times it.
   *
   * @param atOnce the most samples of a call
   * @param bad a sample of shard 1 that cannot be produced
   * @param calls their number
   */
  private record Numbers(
      int atOnce, int bad, AtomicInteger calls, List<VariableLength> variableLengths, Write rows)
      implements StreamDataset {
    static Numbers of(int atOnce, int bad) {
      return new Numbers(atOnce, bad, new AtomicInteger(), List.of(), Numbers::put);
    }

    static Numbers writing(Write rows) {
      return new Numbers(8, NO_SAMPLE, new AtomicInteger(), List.of(), rows);
    }

    private static int put(SampleWriter samples, long first, int count) {
      samples.put(0, LongStream.range(first, first + count).toArray());
      float[] pairs = new float[2 * count];
      for (int i = 0; i < count; i++) {
        pairs[2 * i] = 2 * (float) (first + i);
        pairs[2 * i + 1] = 4 * (float) (first + i);
      }
      samples.put(1, pairs, 0, count); // in two parts, within a sample
      samples.put(1, pairs, count, count);
      return count;
    }

    @Override
    public int shards() {
      return 3;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.FLOAT32, 2));
    }

    @Override
    public ColumnStream open(long epoch, int shard, @Nullable String position) {
      return new ColumnStream() {
        private int next = position == null ? 0 : Integer.parseInt(position);

        @Override
        public int nextRows(SampleWriter samples, int max) throws IOException {
          calls.incrementAndGet();
          if (shard == 1 && next == bad) {
            next++;
            throw new IOException("no such row");
          }
          int end = shard == 1 && next < bad ? bad : LENGTH;
          int count = Math.min(Math.min(max, atOnce), end - next);
          if (count == 0) {
            return 0;
          }
          int written = rows.write(samples, 100L * shard + next, count);
          next += count;
          return written;
        }

        @Override
        public String position() {
          return Integer.toString(next);
        }
      };
    }
  }

  private static DataLoader loader(StreamDataset data, int workers) {
    return DataLoader.over(data).batchSize(5).workers(workers).build();
  }

  private static List<String> read(Batches batches) {
    List<String> all = new ArrayList<>();
    try (batches) {
      for (Batch batch : batches) {
        float[] pairs = new float[2 * batch.size()];
        batch.tensor(1).data_ptr_float().get(pairs);
        List<Long> numbers = Counters.longs(batch, 0);
        for (int i = 0; i < batch.size(); i++) {
          assertThat(pairs[2 * i]).isEqualTo(2f * numbers.get(i));
          assertThat(pairs[2 * i + 1]).isEqualTo(4f * numbers.get(i));
        }
        all.add(numbers + " " + LongStream.of(batch.indices()).boxed().toList());
      }
    }
    return all;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void batchesAreThoseOfSingleSamples(int workers) {
    Numbers single = Numbers.of(1, NO_SAMPLE);
    List<String> expected;
    try (DataLoader loader = loader(single, 0)) {
      expected = read(loader.epoch(0));
    }
    assertThat(expected).hasSize(15).contains("[105, 106, 107, 108, 109] [16, 19, 22, 25, 28]");
    assertThat(single.calls().get()).isGreaterThanOrEqualTo(3 * LENGTH);
    for (int atOnce : new int[] {2, 3, 5, 100}) {
      Numbers many = Numbers.of(atOnce, NO_SAMPLE);
      try (DataLoader loader = loader(many, workers)) {
        assertThat(read(loader.epoch(0))).isEqualTo(expected);
      }
      assertThat(many.calls().get()).isLessThan(2 * LENGTH);
    }
  }

  @Test
  void aPassContinuesAtAnyBatch() {
    Numbers data = Numbers.of(4, NO_SAMPLE);
    try (DataLoader loader = loader(data, 2)) {
      List<String> all = read(loader.epoch(1));
      for (int taken = 1; taken < all.size(); taken++) {
        try (Batches pass = loader.epoch(1)) {
          for (int i = 0; i < taken; i++) {
            pass.next();
          }
          assertThat(read(loader.resume(pass.state()))).isEqualTo(all.subList(taken, all.size()));
        }
      }
    }
  }

  @Test
  void aBadSampleIsSkippedWithoutItsNeighbours() {
    try (DataLoader loader =
        DataLoader.over(Numbers.of(100, 7))
            .batchSize(5)
            .onFailure(FailurePolicy.skipSample())
            .build()) {
      assertThat(read(loader.epoch(0)))
          .contains("[105, 106, 108, 109] [16, 19, 25, 28]")
          .contains("[110, 111, 112, 113, 114] [31, 34, 37, 40, 43]")
          .hasSize(15);
      assertThat(loader.stats().skipped()).isOne();
    }
  }

  @Test
  void aBadSampleIsNamed() {
    try (DataLoader loader = loader(Numbers.of(100, 7), 1);
        Batches pass = loader.epoch(0)) {
      for (int i = 0; i < 4; i++) {
        pass.next();
      }
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(pass::next)
          .withMessageContaining("no such row")
          .satisfies(e -> assertThat(e.index()).isEqualTo(7 * 3 + 1));
    }
  }

  private static String refused(StreamDataset data) {
    try (DataLoader loader = loader(data, 1);
        Batches pass = loader.epoch(0)) {
      return String.valueOf(
          assertThatExceptionOfType(SampleException.class)
              .isThrownBy(pass::next)
              .actual()
              .getMessage());
    }
  }

  @Test
  void samplesThatAreNotWholeOrTooManyAreRefused() {
    assertThat(refused(Numbers.writing((samples, first, count) -> count)))
        .contains("column 0 takes 5 elements of 5 samples (int64 []), got 0");
    assertThat(
            refused(
                Numbers.writing(
                    (samples, first, count) -> {
                      samples.put(0, new long[6]);
                      return count;
                    })))
        .contains("column 0 takes 5 elements of 5 samples (int64 []), got 6 after 0");
    assertThat(refused(Numbers.writing((samples, first, count) -> count + 1)))
        .contains("nextRows must write 0 to 5 samples, got 6");
    assertThat(
            refused(
                Numbers.writing(
                    (samples, first, count) -> {
                      samples.putImage(1, new byte[1], ImagePlan.builder().resize(4, 4).build());
                      return count;
                    })))
        .contains("column 1 takes rows of up to 5 samples at once, which an image is not");
  }

  @Test
  void samplesOfVariableLengthAreWrittenOneByOne() {
    Numbers data =
        new Numbers(
            8, NO_SAMPLE, new AtomicInteger(), List.of(VariableLength.padded(1)), Numbers::put);
    try (DataLoader loader = loader(data, 1);
        Batches pass = loader.epoch(0)) {
      assertThat(Counters.longs(pass.next(), 0)).containsExactly(0L, 1L, 2L, 3L, 4L);
      assertThat(data.calls().get()).isGreaterThanOrEqualTo(5);
    }
  }
}
