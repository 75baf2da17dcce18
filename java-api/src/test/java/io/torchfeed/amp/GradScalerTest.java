// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.amp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.testing.GoldenLine;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;

class GradScalerTest {
  private static final GradScaler.Options OPTIONS = GradScaler.Options.defaults();

  private static final float[] ROWS = {1, 2, -3, 0.5f};

  /** The layer of golden/mixed_precision, and its optimizer. */
  private static final class Layer extends Module {
    private final Tensor weight =
        register_parameter("weight", Tensor.create(new float[] {0.5f, -0.25f, 1, 0.125f}, 4));
    private final SGD optimizer = new SGD(parameters(), new SGDOptions(0.125));

    Tensor loss(double factor) {
      return weight.mul(Tensor.create(ROWS, 4)).square().sum().mul(new Scalar(factor));
    }

    void backward(GradScaler scaler, double factor) {
      optimizer.zero_grad();
      scaler.scale(loss(factor)).backward();
    }

    List<Float> weights() {
      List<Float> weights = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        weights.add(weight.data_ptr_float().get(i));
      }
      return weights;
    }
  }

  @Test
  void everyStepIsThatOfPython() {
    Layer layer = new Layer();
    GradScaler scaler = GradScaler.create();
    int steps = 0;
    for (String line : GoldenLine.read("mixed_precision.txt")) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("scaler")) {
        scaler.close();
        scaler =
            GradScaler.create(
                GradScaler.Options.defaults()
                    .withInitialScale(Double.parseDouble(words[1]))
                    .withGrowthFactor(Double.parseDouble(words[2]))
                    .withBackoffFactor(Double.parseDouble(words[3]))
                    .withGrowthInterval(Integer.parseInt(words[4])));
        layer = new Layer();
      } else if (words[0].equals("step")) {
        layer.backward(
            scaler, Double.parseDouble(words[1].replace("inf", "Infinity").replace("nan", "NaN")));
        assertThat(scaler.step(layer.optimizer)).as(line).isEqualTo(words[2].equals("performed"));
        scaler.update();
        assertThat(scaler.state())
            .as(line)
            .isEqualTo(
                new GradScaler.State(Double.parseDouble(words[3]), Long.parseLong(words[4])));
        List<Float> expected = new ArrayList<>();
        for (int i = 5; i < words.length; i++) {
          expected.add(Float.parseFloat(words[i]));
        }
        assertThat(layer.weights()).as(line).isEqualTo(expected);
        steps++;
      }
    }
    scaler.close();
    assertThat(steps).isEqualTo(20);
  }

  @Test
  void unscaleLetsGradientsBeChangedBeforeTheStep() {
    Layer layer = new Layer();
    try (GradScaler scaler = GradScaler.create()) {
      layer.backward(scaler, 1);
      scaler.unscale(layer.optimizer);
      assertThat(layer.weight.grad().data_ptr_float().get(0)).isEqualTo(1f);
      layer.weight.grad().zero_();
      assertThat(scaler.step(layer.optimizer)).isTrue();
      assertThat(layer.weights()).containsExactly(0.5f, -0.25f, 1f, 0.125f);
    }
  }

  @Test
  void anOverflowOfOneOptimizerShrinksTheScaleButStopsOnlyThatOne() {
    Layer first = new Layer();
    Layer second = new Layer();
    try (GradScaler scaler = GradScaler.create()) {
      first.backward(scaler, Double.POSITIVE_INFINITY);
      second.backward(scaler, 1);
      assertThat(scaler.step(first.optimizer)).isFalse();
      assertThat(scaler.step(second.optimizer)).isTrue();
      scaler.update();
      assertThat(scaler.state()).isEqualTo(new GradScaler.State(32_768, 0));
    }
  }

  @Test
  void aRestoredScalerContinues() {
    Layer layer = new Layer();
    try (GradScaler scaler = GradScaler.create(OPTIONS.withInitialScale(4).withGrowthInterval(2))) {
      scaler.restore(new GradScaler.State(8, 1));
      layer.backward(scaler, 1);
      scaler.step(layer.optimizer);
      scaler.update();
      assertThat(scaler.state()).isEqualTo(new GradScaler.State(16, 0));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> scaler.restore(new GradScaler.State(-1, 0)))
          .withMessageContaining("scale must be a finite float and not negative, got -1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> scaler.restore(new GradScaler.State(1e300, 0)))
          .withMessageContaining("got 1e+300");
      for (long steps : new long[] {-1, 2, 1L << 40}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> scaler.restore(new GradScaler.State(1, steps)))
            .withMessage("steps must be in [0, 2), got " + steps);
      }
    }
  }

  @Test
  void aScaleThatHasShrunkToZeroIsRestored() {
    Layer layer = new Layer();
    try (GradScaler scaler = GradScaler.create()) {
      for (int i = 0; i < 200; i++) {
        layer.backward(scaler, Double.POSITIVE_INFINITY);
        assertThat(scaler.step(layer.optimizer)).isFalse();
        scaler.update();
      }
      assertThat(scaler.state()).isEqualTo(new GradScaler.State(0, 0));
      scaler.restore(scaler.state());
    }
  }

  @Test
  void updateForgetsAnUnscaleWhoseStepWasLeftOut() {
    Layer layer = new Layer();
    try (GradScaler scaler =
        GradScaler.create(OPTIONS.withInitialScale(4).withGrowthInterval(100))) {
      layer.backward(scaler, 1);
      scaler.unscale(layer.optimizer);
      Tensor divided = layer.weight.grad().clone();
      scaler.update();
      layer.backward(scaler, 1);
      scaler.unscale(layer.optimizer);
      assertThat(layer.weight.grad().equal(divided)).isTrue();
    }
  }

  @Test
  void callsInTheWrongOrderAreRefused() {
    Layer layer = new Layer();
    GradScaler scaler = GradScaler.create();
    assertThatIllegalStateException()
        .isThrownBy(scaler::update)
        .withMessage("update needs a step or an unscale before it");
    assertThatIllegalStateException()
        .isThrownBy(() -> scaler.step(layer.optimizer))
        .withMessage("no parameter of the optimizer has a gradient");
    layer.backward(scaler, 1);
    scaler.unscale(layer.optimizer);
    assertThatIllegalStateException().isThrownBy(() -> scaler.unscale(layer.optimizer));
    scaler.step(layer.optimizer);
    assertThatIllegalStateException()
        .isThrownBy(() -> scaler.step(layer.optimizer))
        .withMessage("step was called after step of this optimizer; call update first");
    scaler.close();
    scaler.close();
    assertThatIllegalStateException()
        .isThrownBy(scaler::state)
        .withMessageContaining("GradScaler is closed");
    assertThatIllegalStateException()
        .isThrownBy(scaler::update)
        .withMessage("GradScaler is closed");
  }

  @Test
  void lossesAndOptimizersOfNoUseAreRefused() {
    Layer layer = new Layer();
    try (GradScaler scaler = GradScaler.create();
        Tensor undefined = new Tensor();
        LBFGS needsClosure = new LBFGS(layer.parameters())) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> scaler.scale(undefined))
          .withMessage("the loss is an undefined tensor");
      layer.backward(scaler, 1);
      assertThatThrownBy(() -> scaler.step(needsClosure))
          .isInstanceOf(NativeException.class)
          .hasMessageContaining("requires a closure");
      layer.optimizer.close();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> scaler.step(layer.optimizer))
          .withMessage("the optimizer is closed");
      assertThatIllegalArgumentException().isThrownBy(() -> scaler.unscale(layer.optimizer));
    }
  }

  @Test
  void gradientsOfFloat16AreRefused() {
    Layer layer = new Layer();
    layer.to(ScalarType.Half, false);
    try (GradScaler scaler = GradScaler.create()) {
      scaler.scale(layer.weight.sum()).backward();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> scaler.step(layer.optimizer))
          .withMessageContaining("gradients of float16 cannot be unscaled");
    }
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> OPTIONS.withInitialScale(1e39))
        .withMessageContaining("initialScale must be a positive float, got 1.0E39");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> OPTIONS.withInitialScale(1e-300))
        .withMessageContaining("initialScale must be a positive float, got 1.0E-300");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> OPTIONS.withGrowthFactor(Double.POSITIVE_INFINITY))
        .withMessageContaining("growthFactor must be more than 1 and finite");
    assertThatIllegalArgumentException().isThrownBy(() -> OPTIONS.withGrowthFactor(1));
    assertThatIllegalArgumentException().isThrownBy(() -> OPTIONS.withBackoffFactor(1));
    assertThatIllegalArgumentException().isThrownBy(() -> OPTIONS.withGrowthInterval(0));
  }

  @Test
  void aScalerContinuesFromTheStateOfAnother() {
    try (GradScaler first = GradScaler.create();
        GradScaler second = GradScaler.create()) {
      first.restore(new GradScaler.State(0.1f, 7));
      try (StateDict state = first.stateDict()) {
        second.loadStateDict(state);
        assertThat(second.state()).isEqualTo(first.state());
        try (StateDict other =
            StateDict.of(state.json().replace("GradScaler", "QAdam"), Map.of())) {
          assertThatIllegalArgumentException()
              .isThrownBy(() -> second.loadStateDict(other))
              .withMessageContaining("must be of the kind GradScaler, got QAdam");
        }
      }
    }
  }
}
