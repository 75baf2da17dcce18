// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests that states that do not fit, and moments that are wrong, are refused. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ResumeFaultTest {
  private static final DataParallelOptions POWER_SGD =
      DataParallelOptions.defaults()
          .withBucketBytes(150)
          .withExchange(
              GradientExchange.powerSgd().withStartIteration(0).withMinCompressionRate(0.5));

  private static DistributedDataParallel wrap(ProcessGroup group, DataParallelOptions options) {
    return DistributedDataParallel.wrap(new ResumeNet(1), group, options);
  }

  /** Returns the state after two backward passes. */
  private static StateDict trained(ProcessGroup group) {
    ResumeNet net = new ResumeNet(1);
    try (var model = DistributedDataParallel.wrap(net, group, POWER_SGD)) {
      for (int step = 0; step < 2; step++) {
        model.backward(net.loss(group.rank(), step));
      }
      return model.stateDict();
    }
  }

  private static void assertRefused(Stateful object, StateDict state, String message) {
    try (state) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> object.loadStateDict(state))
          .withMessageContaining(message);
    }
  }

  private static StateDict changed(StateDict state, String from, String to) {
    assertThat(state.json()).contains(from);
    return StateDict.of(state.json().replace(from, to), state.tensors());
  }

  private static StateDict without(StateDict state, String name) {
    Map<String, Tensor> tensors = new TreeMap<>(state.tensors());
    assertThat(tensors.remove(name)).isNotNull();
    return StateDict.of(state.json(), tensors);
  }

  @Test
  void aStateOfAnotherRankModelOrExchangeIsRefusedByName() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              StateDict state = trained(group)) {
            try (var other = wrap(group, DataParallelOptions.defaults().withBucketBytes(150))) {
              assertRefused(
                  other, changed(state, "\"kind\"", "\"kind\""), "the state has exchange powerSgd");
            }
            try (var model = wrap(group, POWER_SGD)) {
              String mine = "rank " + group.rank() + " of 2";
              assertRefused(
                  model, changed(state, mine, "rank 7 of 9"), "the state has rank 7 of 9, here is");
              assertRefused(
                  model,
                  changed(state, "parameter first: Float", "parameter first: Double"),
                  "the state has parameter first: Double");
              assertRefused(
                  model, changed(state, "\"DistributedDataParallel\"", "\"QAdam\""), "got QAdam");
            }
          }
        });
  }

  @Test
  void aMalformedStateIsRefusedAndChangesNothing() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              StateDict state = trained(group);
              var model = wrap(group, POWER_SGD)) {
            assertRefused(model, StateDict.of("{", state.tensors()), "not a state");
            assertRefused(model, StateDict.of("{}", state.tensors()), "lacks the field kind");
            assertRefused(model, changed(state, "\"version\":1", "\"version\":2"), "version");
            assertRefused(
                model, changed(state, "\"buckets\":[\"", "\"buckets\":[\"9 "), "parameter 9");
            assertRefused(
                model, changed(state, "\"buckets\":[\"", "\"buckets\":[\"x "), "must be numbers");
            assertRefused(
                model,
                changed(state, "\"buckets\":[\"", "\"buckets\":[\"\",\""),
                "must be numbers");
            assertRefused(
                model,
                changed(state, "\"exchangeRandom\":[\"", "\"exchangeRandom\":[\"x"),
                "random");
            assertRefused(
                model, changed(state, "\"exchangeSteps\":2", "\"exchangeSteps\":-1"), "at least 0");
            assertRefused(
                model, changed(state, "\"exchangeSteps\":2", "\"exchangeSteps\":0"), "keeps 0");
            assertRefused(model, changed(state, "\"uses\":[", "\"uses\":[\"1 2\""), "uses");
            assertRefused(model, without(state, "exchange.q.first"), "tensors after these steps");
            assertRefused(model, without(state, "buffer.seen"), "buffer.seen");
            model.loadStateDict(state);
          }
        });
  }

  @Test
  void aStateIsTakenAndRestoredBetweenStepsOnly() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              StateDict state = trained(group)) {
            ResumeNet net = new ResumeNet(1);
            var model = DistributedDataParallel.wrap(net, group, POWER_SGD);
            try (model) {
              try (var accumulating = model.noSync()) {
                model.backward(net.loss(0, 0));
              }
              assertThatIllegalStateException()
                  .isThrownBy(model::stateDict)
                  .withMessageContaining("not averaged yet");
              model.backward(net.loss(0, 1));
              assertThatIllegalStateException()
                  .isThrownBy(() -> model.loadStateDict(state))
                  .withMessageContaining("before the first backward pass");
              try (UnevenInputs join = model.unevenInputs(Uneven.passes(0))) {
                assertThatIllegalStateException()
                    .isThrownBy(model::stateDict)
                    .withMessageContaining("outside of uneven inputs");
              }
            }
            assertThatIllegalStateException().isThrownBy(model::stateDict);
          }
        });
  }

  @Test
  void averagedWeightsAreTakenAndRestoredBetweenStepsOnly() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            ResumeNet net = new ResumeNet(1);
            AveragingAlgorithm algorithm = AveragingAlgorithm.lowPrecision();
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm);
                StateDict state = model.stateDict()) {
              model.step(
                  () ->
                      assertThatIllegalStateException()
                          .isThrownBy(model::stateDict)
                          .withMessageContaining("between steps"),
                  () -> {});
              assertThatIllegalStateException()
                  .isThrownBy(() -> model.loadStateDict(state))
                  .withMessageContaining("before the first step");
              try (ModelAveraging other =
                  ModelAveraging.wrap(net, group, algorithm.withInterval(2))) {
                assertRefused(
                    other,
                    changed(state, "\"kind\"", "\"kind\""),
                    "the state has decentralized in low precision, every 1 steps");
              }
              try (ModelAveraging same = ModelAveraging.wrap(net, group, algorithm)) {
                assertRefused(same, changed(state, "\"steps\":0", "\"steps\":-1"), "at least 0");
                assertRefused(same, without(state, "left"), "missing names: left");
              }
            }
          }
        });
  }
}
