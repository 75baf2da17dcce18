// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests the rules and refusals of weights of losses. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WeightedLossTest {
  private static final DataParallelOptions WEIGHTED =
      DataParallelOptions.defaults().withWeightedLosses(true);

  private static Tensor loss(LinearImpl net, double factor) {
    return net.weight().sum().add(net.bias().sum()).mul(new Scalar(factor));
  }

  private static double gradient(LinearImpl net) {
    return net.bias().grad().get(0).item_double();
  }

  @Test
  void oneProcessHasTheRulesOfRanks() {
    try (PointerScope scope = new PointerScope()) {
      LinearImpl net = new LinearImpl(2, 1);
      SingleModel model = SingleModel.wrap(net);
      model.accumulate(() -> loss(net, 8), 3);
      model.accumulate(() -> loss(net, Double.NaN), 0);
      model.step(() -> loss(net, 4), 1, () -> {});
      assertThat(gradient(net)).isEqualTo(7);

      net.zero_grad(true);
      model.step(() -> loss(net, Double.NaN), 0, () -> {});
      assertThat(gradient(net)).isZero();

      net.zero_grad(true);
      model.accumulate(() -> loss(net, 8), 3);
      net.zero_grad(true); // and the weights
      model.accumulate(() -> loss(net, 8), 2);
      assertThatIllegalStateException()
          .isThrownBy(() -> model.step(() -> loss(net, 8), () -> {}))
          .withMessage("the batches of a step must all have weights, or none");
      model.stepAccumulated(() -> {});
      assertThat(gradient(net)).isEqualTo(8);

      net.zero_grad(true);
      model.accumulate(() -> loss(net, 8));
      model.step(() -> loss(net, 1), () -> {});
      assertThat(gradient(net)).isEqualTo(9);
      for (double weight : List.of(-1.0, Double.NaN, Double.POSITIVE_INFINITY, 1e39)) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> model.accumulate(() -> loss(net, 8), weight))
            .withMessageStartingWith("weight must be a finite number of at least 0");
      }
      assertThat(model.clipGradNorm(1)).isCloseTo(9 * Math.sqrt(3), within(1e-12));
      assertThat(gradient(net)).isLessThan(0.6);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.clipGradNorm(0))
          .withMessage("maxNorm must be above 0, got 0");
    }
  }

  @Test
  void misuseOfAGroupIsRefusedAndLeavesItUsable() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = new LinearImpl(2, 1);
            for (GradientExchange exchange :
                List.of(
                    GradientExchange.byteGrad(),
                    GradientExchange.powerSgd(),
                    GradientExchange.qAdam(1, 0.9))) {
              assertThatIllegalArgumentException()
                  .isThrownBy(
                      () ->
                          DistributedDataParallel.wrap(net, group, WEIGHTED.withExchange(exchange)))
                  .withMessageStartingWith(
                      "weighted losses need the exchange allReduce, float16 or bfloat16, got ");
            }
            try (var model = DistributedDataParallel.wrap(net, group, WEIGHTED)) {
              assertThatIllegalArgumentException()
                  .isThrownBy(() -> model.backward(loss(net, 1), -0.5))
                  .withMessageContaining("got -0.5");
              assertThatIllegalStateException()
                  .isThrownBy(() -> model.backward(loss(net, 1)))
                  .withMessageContaining("backward(loss, weight)");
              net.zero_grad(true);
              model.backward(loss(net, group.rank() == 0 ? 2 : 6), group.rank() == 0 ? 3 : 1);
              assertThat(gradient(net)).isEqualTo(3);
              model.verifyReplicas();
            }
          }
        });
  }
}
