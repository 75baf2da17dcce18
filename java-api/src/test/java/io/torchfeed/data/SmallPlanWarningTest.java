// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.ListSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.order.WeightedSampler;
import io.torchfeed.sampler.split.RandomSplit;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of the warning about a sampler that was made for a smaller dataset. */
class SmallPlanWarningTest {
  private static final Logger LOGGER = Logger.getLogger("io.torchfeed.data");

  private final List<String> logged = new ArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord entry) {
          logged.add(entry.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    LOGGER.setUseParentHandlers(false);
    LOGGER.addHandler(handler);
  }

  @AfterEach
  void stop() {
    LOGGER.removeHandler(handler);
    LOGGER.setUseParentHandlers(true);
  }

  private static void build(Sampler sampler) {
    try (RowData rows = RowData.samples(100);
        DataLoader loader = rows.over().sampler(sampler).workers(0).build()) {
      assertThat(loader.batches()).isEqualTo(sampler.size());
    }
  }

  @Test
  void aPlanOfASmallerDatasetIsWarnedOf() {
    Sampler three = WeightedSampler.of(new double[] {1, 2, 3}, 3, 0);
    build(three);
    assertThat(logged)
        .containsExactly(
            "the sampler was made for 3 samples, but the dataset has 100: those from 3 on are never"
                + " loaded; pass the size of the dataset, or a subset of it to the loader");
    build(StridedSampler.of(three, new Part(2, 1)));
    build(ShuffledSampler.of(99, 0));
    assertThat(logged).hasSize(3);
  }

  @Test
  void subsetsByDesignAreNotWarnedOf() {
    build(ShuffledSampler.of(100, 0));
    build(ListSampler.shuffled(1, 3, 1, 4));
    build(ListSampler.shuffled(1, RandomSplit.byLengths(new long[] {70, 30}, 1).get(0)));
    double[] weights = new double[100];
    weights[7] = 1;
    build(WeightedSampler.of(weights, 3, 0));
    assertThat(logged).isEmpty();
  }
}
