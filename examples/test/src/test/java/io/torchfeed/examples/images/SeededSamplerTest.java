// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.examples.common.SeededSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Tests of the sampler that the examples share, here, where libtorch is. */
class SeededSamplerTest {
  private static final Part PART = Part.rank(1).of(2);

  @Test
  void anEpochHasLibtorchsOrderOfSeedAndEpoch() {
    SeededSampler sampler = SeededSampler.of(11, PART, 5);
    DistributedRandomSampler libtorch = DistributedRandomSampler.of(11, PART);
    assertThat(sampler.size()).isEqualTo(6);
    for (long epoch = 0; epoch < 3; epoch++) {
      assertThat(sampler.indices(epoch))
          .containsExactlyElementsOf(libtorch.indices(5 + epoch).boxed().toList());
    }
  }

  @Test
  void anotherSeedIsAnotherPlan() {
    SeededSampler sampler = SeededSampler.of(11, PART, 5);
    assertThat(sampler.digest()).isNotEqualTo(SeededSampler.of(11, PART, 6).digest());
    assertThat(sampler.probe(0, 2)).isNotEqualTo(SeededSampler.of(11, PART, 6).probe(0, 2));
    assertThat(sampler.order()).isEqualTo(SeededSampler.of(11, Part.rank(0).of(3), 5).order());
  }

  /** Two ranks deliver two batches each, three others the rest. */
  @Test
  void otherRanksDivideTheRestOfAnEpoch() {
    List<Long> seen = new ArrayList<>();
    try (Tensor rows = torch.randn(20, 1);
        TensorDataset data = TensorDataset.of(rows)) {
      String state = "";
      for (int rank = 0; rank < 2; rank++) {
        try (DataLoader loader = loader(data, Part.rank(rank).of(2));
            Batches batches = loader.epoch(1)) {
          for (int i = 0; i < 2; i++) {
            add(seen, batches.next());
          }
          state = batches.state().toJson();
        }
      }
      for (int rank = 0; rank < 3; rank++) {
        try (DataLoader loader = loader(data, Part.rank(rank).of(3));
            Batches batches = loader.resume(LoaderState.fromJson(state))) {
          for (Batch batch : batches) {
            add(seen, batch);
          }
        }
      }
    }
    assertThat(seen).containsExactlyInAnyOrderElementsOf(LongStream.range(0, 20).boxed().toList());
  }

  private static void add(List<Long> seen, Batch batch) {
    long[] indices = batch.indices();
    for (int i = 0; i < indices.length; i++) {
      if (!batch.isPadding(i)) {
        seen.add(indices[i]);
      }
    }
  }

  private static DataLoader loader(TensorDataset data, Part part) {
    return DataLoader.over(data).sampler(SeededSampler.of(20, part, 5)).batchSize(3).build();
  }
}
