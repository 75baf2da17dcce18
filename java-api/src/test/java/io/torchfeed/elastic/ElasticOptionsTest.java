// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.training.TrainingLoop;
import io.torchfeed.training.TrainingLoopBuilder;
import java.time.Duration;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the arguments of an elastic training. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticOptionsTest {
  @Test
  void aStateOfEachRankIsRefused() throws Exception {
    CoordinatorOptions options = CoordinatorOptions.of(1, 1).withStart(Duration.ofSeconds(60));
    try (PointerScope scope = new PointerScope();
        Coordinator coordinator = Coordinator.listen("127.0.0.1", 0, options);
        Membership own = Membership.join("127.0.0.1", coordinator.port())) {
      ElasticNet net = new ElasticNet(1);
      TrainingLoopBuilder<DistributedDataParallel> builder =
          TrainingLoop.over(
              ElasticRanks.of(own), group -> DistributedDataParallel.wrap(net, group));
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> builder.state(state -> state.ofEachRank("own", new NoState()).module("m", net)))
          .withMessageContaining("parts of each rank: own");
    }
  }

  /** A part of a state. */
  private static final class NoState implements Stateful {
    @Override
    public StateDict stateDict() {
      return StateDict.of("{}", Map.of());
    }

    @Override
    public void loadStateDict(StateDict state) {}
  }

  @Test
  void aMissingLoaderIsNamed() throws Exception {
    CoordinatorOptions options = CoordinatorOptions.of(1, 1).withStart(Duration.ofSeconds(60));
    try (PointerScope scope = new PointerScope();
        Coordinator coordinator = Coordinator.listen("127.0.0.1", 0, options);
        Membership own = Membership.join("127.0.0.1", coordinator.port())) {
      ElasticNet net = new ElasticNet(1);
      TrainingLoop<DistributedDataParallel> training =
          TrainingLoop.over(ElasticRanks.of(own), group -> DistributedDataParallel.wrap(net, group))
              .state(state -> state.module("m", net))
              .loader(part -> null)
              .build();
      assertThatNullPointerException()
          .isThrownBy(() -> training.run((step, model, batch) -> net.loss(batch), () -> {}))
          .withMessage("the loader of a part");
    }
  }
}
