// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.BackAndForth;
import io.torchfeed.sampler.order.BlockedSampler;
import io.torchfeed.sampler.order.ClassBalancedSampler;
import io.torchfeed.sampler.order.ConcatenatedSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ListSampler;
import io.torchfeed.sampler.order.MixedSampler;
import io.torchfeed.sampler.order.RepeatedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.order.WeightedSampler;
import io.torchfeed.sampler.python.PythonGenerator;
import io.torchfeed.sampler.python.SubsetRandomSampler;
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
                + " loaded; make it for the size of the dataset, or give the loader the subset for"
                + " which it was made");
    build(StridedSampler.of(three, new Part(2, 1)));
    build(ShuffledSampler.of(99, 0));
    assertThat(logged).hasSize(3);
  }

  @Test
  void aPlanOfALargerDatasetIsRefused() {
    String message =
        "the sampler was made for 1000 samples, but the dataset has 100; make it for the size of"
            + " the dataset, or give the loader the dataset for which it was made";
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

  /** All plans that read another one, over a plan of a whole order. */
  private static List<DataLoaderBuilder> wrapped(RowData rows, Sampler plan) {
    Part part = Part.rank(1).of(2);
    List<MixedSampler.Source> sources = MixedSampler.Source.ofDatasets(List.of(plan), 100);
    return List.of(
        rows.over().sampler(plan),
        rows.over().sampler(StridedSampler.of(plan, part)),
        rows.over().sampler(BlockedSampler.contiguous(plan, part)),
        rows.over().sampler(new BackAndForth(plan, part, Tail.PAD)),
        rows.over().sampler(RepeatedSampler.of(plan, 5)),
        rows.over().sampler(ConcatenatedSampler.of(sources)),
        rows.over().sampler(MixedSampler.untilAllExhausted(sources, 1)),
        rows.over().batchSampler(FixedSizeBatchSampler.of(plan, 4)),
        rows.over().batchSampler(DistributedBatchSampler.ofWholeBatches(plan, 4, part)));
  }

  @Test
  void labelsOfASubsetAreToldFromThoseOfAllRows() {
    Sampler four = ClassBalancedSampler.ofLabels(2, 0, 1, 1, 0).build();
    Sampler larger = ClassBalancedSampler.ofLabels(2, new int[101]).build();
    try (RowData rows = RowData.samples(100)) {
      for (DataLoaderBuilder builder : wrapped(rows, four)) {
        logged.clear();
        builder.workers(0).build().close();
        assertThat(logged)
            .singleElement()
            .asString()
            .startsWith(
                "the sampler was made for 4 samples, but the dataset has 100: those from 4");
      }
      logged.clear();
      for (DataLoaderBuilder builder : wrapped(rows, larger)) {
        assertThatIllegalArgumentException()
            .isThrownBy(builder::build)
            .withMessageStartingWith(
                "the sampler was made for 101 samples, but the dataset has 100; make it for");
      }
    }
    assertThat(logged).isEmpty();
  }

  @Test
  void anIndexOfAListBeyondTheDatasetIsRefused() {
    try (RowData rows = RowData.samples(100)) {
      for (Sampler beyond :
          List.of(
              ListSampler.inOrder(3, 100, 4),
              ListSampler.shuffled(1, 100),
              SubsetRandomSampler.of(new long[] {100, 1}, 7)
                  .withGeneratorUse(PythonGenerator.Use.LOADER))) {
        for (DataLoaderBuilder builder : wrapped(rows, beyond)) {
          assertThatIllegalArgumentException()
              .isThrownBy(builder::build)
              .withMessage(
                  "the sampler has the index 100, but the dataset has 100 samples; give the loader"
                      + " the dataset of which the indices are");
        }
      }
      for (DataLoaderBuilder builder : wrapped(rows, ListSampler.inOrder(99))) {
        builder.workers(0).build().close();
      }
    }
    assertThat(logged).isEmpty();
  }

  @Test
  void aSourceCountsFromItsFirstIndex() {
    List<Sampler> plans = List.of(ListSampler.inOrder(3), ShuffledSampler.of(7, 1));
    List<MixedSampler.Source> sources = MixedSampler.Source.ofDatasets(plans, 94, 7);
    assertThat(ConcatenatedSampler.of(sources).madeFor()).isEqualTo(new DatasetSize(101, false));
    assertThat(MixedSampler.Source.ofDatasets(List.of(ListSampler.inOrder()), 9))
        .allSatisfy(
            empty ->
                assertThat(ConcatenatedSampler.of(List.of(empty)).madeFor().samples()).isZero());
    Sampler last = ListSampler.inOrder(Long.MAX_VALUE);
    assertThat(last.madeFor().samples()).isEqualTo(Long.MAX_VALUE);
    MixedSampler.Source moved = new MixedSampler.Source(last, 9);
    assertThat(ConcatenatedSampler.of(List.of(moved)).madeFor().samples())
        .isEqualTo(Long.MAX_VALUE);
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
