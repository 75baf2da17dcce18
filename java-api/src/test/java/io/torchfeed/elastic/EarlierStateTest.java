// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of the progress to which a loop returns. */
class EarlierStateTest {
  private static final Part PART = new Part(2, 1);

  @Test
  void eachEarlierStateIsTheOneThatWasReturnedThen() {
    try (TensorDataset data = ElasticNet.data();
        DataLoader loader = ElasticNet.loader(data, PART);
        Batches start = loader.epoch(3, 2)) {
      LoaderState from = start.state();
      for (Batches batches : List.of(loader.epoch(3), loader.resume(from))) {
        try (batches) {
          long first = batches.position();
          List<LoaderState> states = new ArrayList<>(List.of(batches.state()));
          while (batches.hasNext()) {
            batches.next();
            states.add(batches.state());
          }
          assertThat(batches.state().finished()).isTrue();
          for (int i = 0; i < states.size(); i++) {
            assertThat(batches.stateAt(first + i)).as("after %d", i).isEqualTo(states.get(i));
          }
          assertThatIllegalArgumentException()
              .isThrownBy(() -> batches.stateAt(first - 1))
              .withMessageStartingWith("position must be in [" + first);
        }
      }
    }
  }

  @Test
  void aPositionAheadIsRefused() {
    try (TensorDataset data = ElasticNet.data();
        DataLoader loader = ElasticNet.loader(data, PART);
        Batches batches = loader.epoch(0)) {
      batches.next();
      assertThatIllegalArgumentException().isThrownBy(() -> batches.stateAt(2));
    }
  }

  @Test
  void batchesWithoutAFixedOrderHaveNoEarlierState() {
    try (TensorDataset data = ElasticNet.data();
        DataLoader loader = DataLoader.over(data).batchSize(4).inOrder(false).build();
        Batches batches = loader.epoch(0)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> batches.stateAt(0))
          .withMessageContaining("inOrder(true)");
    }
  }
}
