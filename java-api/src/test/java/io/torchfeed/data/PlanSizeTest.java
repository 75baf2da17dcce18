// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
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
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of samplers that were made for a smaller or a larger dataset. */
class PlanSizeTest {
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
  void aPlanOfALargerDatasetIsRefused() {
    String message =
        "the sampler was made for 1000 samples, but the dataset has 100; make it for the size of"
            + " the dataset";
    Sampler larger = ShuffledSampler.of(1000, 0);
    try (RowData rows = RowData.samples(100);
        TensorDataset tensors = TensorDataset.of(torch.zeros(100))) {
      for (DataLoaderBuilder builder :
          List.of(
              rows.over().sampler(larger),
              rows.over().sampler(StridedSampler.of(larger, Part.rank(1).of(2))),
              rows.over().batchSampler(FixedSizeBatchSampler.of(larger, 4)),
              DataLoader.over(tensors).sampler(larger))) {
        assertThatIllegalArgumentException().isThrownBy(builder::build).withMessage(message);
      }
    }
    assertThat(logged).isEmpty();
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
