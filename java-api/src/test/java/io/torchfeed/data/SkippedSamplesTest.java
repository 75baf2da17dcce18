// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.LoaderStats;
import io.torchfeed.data.loader.LoaderStats.SkippedSample;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of the samples that {@link FailurePolicy#skipSample} left out, in a loader's statistics.
 */
class SkippedSamplesTest {
  /** Of 500 samples, those that do not divide by 2 cannot be loaded. */
  private static final class Odd implements Dataset {
    @Override
    public long size() {
      return 500;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) throws IOException {
      if (index % 2 == 1) {
        throw new IOException("odd\n" + "x".repeat((int) index * 10));
      }
      sample.putLong(0, index);
    }
  }

  private static LoaderStats read(DataLoader loader, int batches) {
    try (loader;
        Batches pass = loader.epoch(3)) {
      for (int i = 0; i < batches; i++) {
        Batch ignored = pass.next();
        assertThat(ignored.size()).isEqualTo(5);
      }
      return loader.stats();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void thoseOfDeliveredBatchesAreListed(int workers) {
    LoaderStats stats =
        read(
            DataLoader.over(new Odd())
                .batchSize(10)
                .workers(workers)
                .onFailure(FailurePolicy.skipSample().afterRetries(1))
                .build(),
            2); // the next ones have been loaded ahead
    assertThat(stats.skipped()).isEqualTo(10);
    assertThat(stats.skippedSamples())
        .extracting(SkippedSample::index)
        .containsExactly(1L, 3L, 5L, 7L, 9L, 11L, 13L, 15L, 17L, 19L);
    assertThat(stats.skippedSamples().get(0))
        .isEqualTo(new SkippedSample(1, 3, "java.io.IOException: odd\\nxxxxxxxxxx"));
    assertThat(stats.toString()).contains("; 10 samples skipped; ");
  }

  @Test
  void onlyTheFirstAreListedAndTheirReasonsAreShort() {
    LoaderStats stats =
        read(
            DataLoader.over(new Odd())
                .batchSize(10)
                .workers(1)
                .onFailure(FailurePolicy.skipSample())
                .build(),
            50);
    assertThat(stats.skipped()).isEqualTo(250);
    assertThat(stats.skippedSamples())
        .extracting(SkippedSample::index)
        .containsExactlyElementsOf(LongStream.range(0, 100).map(i -> 2 * i + 1).boxed().toList());
    assertThat(stats.skippedSamples().get(99).reason())
        .hasSizeLessThan(1100)
        .endsWith(" characters)");
  }
}
