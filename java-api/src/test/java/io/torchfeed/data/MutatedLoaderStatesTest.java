// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.testing.JsonMutations;
import io.torchfeed.testing.LeakCheck;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Each value of a loader's state replaced: it resumes, or is refused by a typed exception. */
@ExtendWith(LeakCheck.class)
class MutatedLoaderStatesTest {
  private static final int SIZE = 20;

  private static void resumeEach(DataLoader loader) {
    String state;
    try (Batches batches = loader.epoch(1)) {
      batches.next();
      batches.next();
      state = batches.state().toJson();
    }
    int refused = 0;
    for (String changed : JsonMutations.of(state)) {
      try (Batches batches = loader.resume(LoaderState.fromJson(changed))) {
        if (batches.hasNext()) {
          batches.next();
        }
      } catch (NumberFormatException e) {
        throw new AssertionError(changed, e);
      } catch (IllegalArgumentException | IllegalStateException e) {
        refused++;
        assertThat(e).as(changed).hasMessageMatching("(?s).{20,}");
      } catch (RuntimeException | Error e) {
        throw new AssertionError(changed, e);
      }
    }
    assertThat(refused).isPositive();
  }

  private static void resumeEach(Sampler sampler) {
    try (Tensor rows = torch.arange(new org.bytedeco.pytorch.Scalar(SIZE));
        TensorDataset data = TensorDataset.of(rows);
        DataLoader loader = DataLoader.over(data).sampler(sampler).batchSize(3).build()) {
      resumeEach(loader);
    }
  }

  @Test
  void ofSamplers() {
    resumeEach(ShuffledSampler.of(SIZE, new Part(2, 1), 7));
    resumeEach(RandomSampler.of(SIZE, 5));
    resumeEach(PythonDistributedSampler.of(SIZE, new Part(2, 0)));
  }

  @Test
  void ofBatchSamplers() {
    BatchSampler batches = FixedSizeBatchSampler.of(ShuffledSampler.of(SIZE, 7), 3);
    try (Tensor rows = torch.arange(new org.bytedeco.pytorch.Scalar(SIZE));
        TensorDataset data = TensorDataset.of(rows);
        DataLoader loader = DataLoader.over(data).batchSampler(batches).build()) {
      resumeEach(loader);
    }
  }
}
