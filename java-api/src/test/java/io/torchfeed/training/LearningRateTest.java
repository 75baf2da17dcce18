// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.StateDict;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Tests the arguments of a learning rate; the golden test has its values. */
class LearningRateTest {
  @Test
  void itFollowsEpochsAndTheNumberOfRanks() {
    try (LoopNet net = new LoopNet(0)) {
      LearningRate rate =
          LearningRate.perEpoch(net.optimizer, Schedule.steps(1, 0.5))
              .forWorldSize(ranks -> ranks / 4.0);
      rate.set(new Step(99, 0, 1, 4));
      assertThat(rate.rate()).isEqualTo(0.01);
      rate.set(new Step(7, 2, 0, 2));
      assertThat(rate.rate()).isEqualTo(0.01 * 0.25 * 0.5);
      rate.set(0);
      assertThat(rate.rate()).isEqualTo(0.01);
    }
  }

  @Test
  void itRefusesFactorsThatAreNoRates() {
    try (LoopNet net = new LoopNet(0)) {
      for (double factor : new double[] {-0.5, Double.NaN, Double.POSITIVE_INFINITY}) {
        LearningRate rate = LearningRate.perStep(net.optimizer, step -> factor);
        assertThatIllegalArgumentException()
            .isThrownBy(() -> rate.set(3))
            .withMessage(
                "the factor of a rate must be at least 0 and finite, got %s for step 3", factor);
        assertThat(rate.rate()).isEqualTo(0.01);
      }
      LearningRate rate = LearningRate.perStep(net.optimizer, Schedule.constant());
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rate.set(-1))
          .withMessage("number must be at least 0, got -1");
    }
  }

  @Test
  void itRefusesAnOptimizerThatIsClosedOrHasOtherGroups() {
    try (LoopNet net = new LoopNet(0)) {
      LearningRate rate = LearningRate.perStep(net.optimizer, Schedule.constant());
      net.optimizer.add_param_group(
          new OptimizerParamGroup(new TensorVector(torch.zeros(1).set_requires_grad(true))));
      assertThatIllegalStateException()
          .isThrownBy(() -> rate.set(0))
          .withMessage(
              "the optimizer has 2 groups of parameters, and had 1 when its LearningRate was made");
      net.optimizer.close();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rate.set(0))
          .withMessage("the optimizer is closed");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> LearningRate.perStep(net.optimizer, Schedule.constant()))
          .withMessage("the optimizer is closed");
    }
  }

  @Test
  void schedulesRefuseArgumentsOutOfRange() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Schedule.cosine(0))
        .withMessage("steps must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Schedule.linear(-1, 1, 5))
        .withMessage("start must be at least 0 and finite, got -1.0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Schedule.milestones(0.1, 5, 3))
        .withMessage("milestones must be ascending and at least 0, got [5, 3]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Schedule.oneCycle(3))
        .withMessage("rising must be in (0, 1) and more than one of 3 steps, got 0.3");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Schedule.oneCycle(10, 0.5, 0.5, 1))
        .withMessage("startDivisor must be at least 1 and finite, got 0.5");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Schedule.polynomial(5, 0))
        .withMessage("power must be above 0 and finite, got 0.0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Schedule.constant().then(-1, Schedule.constant()))
        .withMessage("step must be at least 0, got -1");
  }

  @Test
  void schedulesReachTheirEndsAndStay() {
    assertThat(Schedule.cosine(10, 0.25).factor(Long.MAX_VALUE)).isEqualTo(0.25);
    assertThat(Schedule.oneCycle(10).factor(Long.MAX_VALUE)).isEqualTo(1 / 25.0 / 10_000);
    assertThat(Schedule.polynomial(10, 2).factor(11)).isZero();
    assertThat(Schedule.steps(1L << 33, 0.5).factor(1L << 34)).isEqualTo(0.25);
  }

  @Test
  void aPlateauRefusesStatesThatAreNotItsOwn() {
    Plateau plateau = Plateau.ofLoss(PlateauOptions.defaults());
    for (String state :
        new String[] {
          "{\"version\":1,\"kind\":\"GradScaler\"}",
          "{\"version\":1,\"kind\":\"Plateau\",\"metric\":\"loss\",\"best\":\"low\",\"factor\":1.0,\"bad\":0,\"cooling\":0}",
          "{\"version\":1,\"kind\":\"Plateau\",\"metric\":\"loss\",\"best\":\"1\",\"factor\":2.0,\"bad\":0,\"cooling\":0}",
          "{\"version\":1,\"kind\":\"Plateau\",\"metric\":\"loss\",\"best\":\"1\",\"factor\":1.0,\"bad\":-1,\"cooling\":0}",
        }) {
      try (StateDict wrong = StateDict.of(state, Map.of())) {
        assertThatIllegalArgumentException().isThrownBy(() -> plateau.loadStateDict(wrong));
      }
    }
    assertThat(plateau.factor(0)).isEqualTo(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PlateauOptions.defaults().withGamma(1))
        .withMessage("gamma must be in [0, 1), got 1.0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PlateauOptions.defaults().withPatience(-1))
        .withMessage("reports must be at least 0, got -1");
  }

  @Test
  void aPlateauOfAScoreIsNotOneOfALoss() {
    try (StateDict state = Plateau.ofScore(PlateauOptions.defaults()).stateDict()) {
      Plateau loss = Plateau.ofLoss(PlateauOptions.defaults());
      assertThatIllegalArgumentException()
          .isThrownBy(() -> loss.loadStateDict(state))
          .withMessage("the state of a Plateau must be of a loss, got one of a score");
    }
  }

  @Test
  void theStateOfAPlateauHasTheDigitsOfJsonInEachLocale() {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
    Plateau plateau = Plateau.ofLoss(PlateauOptions.defaults().withPatience(0));
    plateau.report(2);
    plateau.report(3);
    try (StateDict state = plateau.stateDict()) {
      Plateau next = Plateau.ofLoss(PlateauOptions.defaults());
      next.loadStateDict(state);
      assertThat(next.factor(0)).isEqualTo(0.1);
    } finally {
      Locale.setDefault(before);
    }
  }
}
