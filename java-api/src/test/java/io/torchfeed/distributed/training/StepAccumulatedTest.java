// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of the last batches of an epoch, which are too few for a whole step. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StepAccumulatedTest {
  private static Tensor loss(LinearImpl net, int rank, int batch) {
    Tensor rows = Tensor.create(new float[] {rank, batch, 1, batch, rank, 2}, 2, 3);
    return net.forward(rows).pow(new Scalar(2)).mean();
  }

  private static synchronized LinearImpl net() { // all ranks share the generator
    torch.manual_seed(1);
    return new LinearImpl(3, 2);
  }

  private static boolean areEqual(Tensor one, Tensor other) {
    return torch.equal(one, other);
  }

  @Test
  void itsGradientsAreThoseOfAWindowThatEndsWithABackwardPass() throws Exception {
    for (DataParallelOptions options :
        List.of(
            DataParallelOptions.defaults(),
            DataParallelOptions.defaults().withFindUnusedParameters(true),
            DataParallelOptions.defaults().withGradientAsBucketView(true))) {
      RankThreads.run(
          2,
          group -> {
            try (PointerScope scope = new PointerScope()) {
              LinearImpl expected = net();
              LinearImpl actual = net();
              try (var whole = DistributedDataParallel.wrap(expected, group, options);
                  var model = DistributedDataParallel.wrap(actual, group, options)) {
                for (int window = 0; window < 3; window++) {
                  expected.zero_grad(true);
                  actual.zero_grad(true);
                  for (int batch = 0; batch < 3; batch++) {
                    int number = batch;
                    if (batch < 2) {
                      whole.accumulate(() -> loss(expected, group.rank(), number));
                    } else {
                      whole.step(() -> loss(expected, group.rank(), number), () -> {});
                    }
                    model.accumulate(() -> loss(actual, group.rank(), number));
                  }
                  int[] updates = new int[1];
                  model.stepAccumulated(() -> updates[0]++);
                  assertThat(updates[0]).isEqualTo(1);
                  assertThat(areEqual(actual.weight().grad(), expected.weight().grad())).isTrue();
                  assertThat(areEqual(actual.bias().grad(), expected.bias().grad())).isTrue();
                }
                assertThat(model.reductions()).isEqualTo(3);
                model.stateDict().close(); // nothing is left that has not been averaged
              }
            }
          });
    }
  }

  @Test
  void aRankThatHasAccumulatedNothingContributesZeros() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = net();
            try (var model = DistributedDataParallel.wrap(net, group)) {
              model.step(() -> loss(net, group.rank(), 1), () -> {}); // leaves old gradients
              if (group.rank() == 1) {
                net.zero_grad(true);
                model.accumulate(() -> net.bias().sum().add(net.weight().sum()));
              }
              model.stepAccumulated(() -> {});
              Tensor half = torch.full(new long[] {2}, new Scalar(0.5));
              assertThat(torch.allclose(net.bias().grad(), half)).isTrue();
            }
          }
        });
  }

  @Test
  void ranksWithUnevenInputsEndTheirEpochsWithIt() throws Exception {
    List<Integer> batches = List.of(3, 5, 0);
    RankThreads.run(
        3,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = net();
            SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
            try (var model = DistributedDataParallel.wrap(net, group)) {
              for (int epoch = 0; epoch < 2; epoch++) {
                trainEpoch(model, net, optimizer, group, batches.get(group.rank()));
                model.verifyReplicas();
              }
              assertThat(model.reductions()).isEqualTo(6);
            }
          }
        });
  }

  private static void trainEpoch(
      DistributedDataParallel model, LinearImpl net, SGD optimizer, ProcessGroup group, int all) {
    int window = 2;
    try (UnevenInputs inputs = model.unevenInputs(Uneven.passes((all + window - 1) / window))) {
      for (int batch = 0; batch < all; batch++) {
        int number = batch;
        if (batch % window == 0) {
          optimizer.zero_grad();
        }
        if (batch % window == window - 1) {
          model.step(() -> loss(net, group.rank(), number), optimizer::step);
        } else {
          model.accumulate(() -> loss(net, group.rank(), number));
        }
      }
      if (all % window > 0) {
        model.stepAccumulated(optimizer::step);
      }
      inputs.shadow(optimizer::step);
    }
  }

  @Test
  void itIsRefusedInsideNoSyncAndBeforeTheFirstPassOverAStaticGraph() throws Exception {
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = net();
            var options = DataParallelOptions.defaults().withStaticGraph(true);
            try (var model = DistributedDataParallel.wrap(net, group, options)) {
              assertThatIllegalStateException()
                  .isThrownBy(() -> model.stepAccumulated(() -> {}))
                  .withMessageContaining("must be run from a loss");
              model.step(() -> loss(net, 0, 0), () -> {});
              try (var accumulating = model.noSync()) {
                model.backward(loss(net, 0, 1));
                assertThatIllegalStateException()
                    .isThrownBy(() -> model.stepAccumulated(() -> {}))
                    .withMessageContaining("close the scope first");
              }
              model.stepAccumulated(() -> {});
              assertThat(model.reductions()).isEqualTo(2);
            }
          }
        });
  }

  @Test
  void modelAveragingTakesTheStepToo() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = net();
            SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
            try (var model = ModelAveraging.wrap(net, group, AveragingAlgorithm.decentralized())) {
              Tensor before = net.weight().detach().clone();
              model.accumulate(() -> loss(net, group.rank(), 1));
              model.stepAccumulated(optimizer::step);
              assertThat(areEqual(net.weight(), before)).isFalse();
              model.average();
              model.verifyReplicas();
            }
          }
        });
  }
}
