// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.amp.GradScaler;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.testing.LeakCheck;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.LBFGSOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that a training continues from a checkpoint as if it had not stopped. */
@ExtendWith(LeakCheck.class)
class TrainingStateTest {
  private final Path folder;

  TrainingStateTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** Optimizers with every tensor that they can keep. */
  enum Kind {
    SGD,
    PLAIN_SGD,
    ADAM,
    ADAM_W,
    RMS_PROP,
    ADAGRAD;

    Optimizer of(SmallNet net) {
      return switch (this) {
        case SGD -> {
          SGDOptions options = new SGDOptions(0.1);
          options.momentum().put(0.9);
          options.weight_decay().put(0.01);
          options.nesterov().put(true);
          yield new SGD(net.all(), options);
        }
        case PLAIN_SGD -> new SGD(net.all(), new SGDOptions(0.1));
        case ADAM -> {
          AdamOptions options = new AdamOptions(0.02);
          options.eps().put(1e-6);
          yield new Adam(net.all(), options);
        }
        case ADAM_W -> {
          AdamWOptions options = new AdamWOptions(0.02);
          options.amsgrad().put(true);
          yield new AdamW(net.all(), options);
        }
        case RMS_PROP -> {
          RMSpropOptions options = new RMSpropOptions(0.02);
          options.momentum().put(0.5);
          options.centered().put(true);
          yield new RMSprop(net.all(), options);
        }
        case ADAGRAD -> new Adagrad(net.all(), new AdagradOptions(0.02));
      };
    }

    Optimizer withOtherRate(SmallNet net) {
      Optimizer optimizer = of(net);
      optimizer.param_groups().get(0).options().set_lr(7);
      return optimizer;
    }
  }

  private static TrainingState state(SmallNet net, Optimizer optimizer) {
    return TrainingState.builder()
        .module("model", net)
        .optimizer("optimizer", optimizer, net)
        .generator("generator", torch.getDefaultCPUGenerator())
        .build();
  }

  @ParameterizedTest
  @EnumSource
  void aTrainingContinuesBitForBit(Kind kind) {
    torch.manual_seed(1);
    SmallNet net = new SmallNet();
    Optimizer optimizer = kind.of(net);
    net.train(optimizer, 0, 3);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(3, state(net, optimizer));
      net.train(optimizer, 3, 6);
      torch.manual_seed(2);
      SmallNet resumed = new SmallNet();
      Optimizer other = kind.withOtherRate(resumed);
      resumed.train(other, 9, 10); // the tensors of this step are replaced
      assertThat(checkpoints.load(state(resumed, other)).orElseThrow().step()).isEqualTo(3);
      resumed.train(other, 3, 6);
      assertThat(resumed.values()).isEqualTo(net.values());
    }
  }

  @Test
  void anOptimizerBeforeItsFirstStepIsRestoredAsSuch() {
    SmallNet net = new SmallNet();
    Optimizer fresh = Kind.ADAM.of(net);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      torch.manual_seed(3);
      checkpoints.save(0, state(net, fresh));
      net.train(fresh, 0, 2);
      String expected = net.values();
      checkpoints.load(state(net, fresh));
      net.train(fresh, 0, 2);
      assertThat(net.values()).isEqualTo(expected);
    }
  }

  @Test
  void textsNumbersAndOtherObjectsComeBack() {
    String text = "{\"quoted\"\\ \n\u0000 漢 \ud83d\ude00}";
    String[] read = new String[1];
    long[] number = {Long.MIN_VALUE};
    try (GradScaler scaler = GradScaler.create();
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      scaler.restore(new GradScaler.State(1024, 7));
      TrainingState state =
          TrainingState.builder()
              .text("loader", () -> text, saved -> read[0] = saved)
              .number("epoch", () -> number[0], saved -> number[0] = saved)
              .part("scaler", scaler)
              .build();
      checkpoints.save(1, state);
      number[0] = 0;
      scaler.restore(new GradScaler.State(1, 1));
      checkpoints.load(state);
      assertThat(scaler.state()).isEqualTo(new GradScaler.State(1024, 7));
    }
    assertThat(read[0]).isEqualTo(text);
    assertThat(number[0]).isEqualTo(Long.MIN_VALUE);
  }

  @Test
  void differencesOfAModelAreListed() {
    SmallNet net = new SmallNet();
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, TrainingState.builder().module("model", net).build());
      SmallNet wide = new SmallNet(9, 0);
      wide.register_buffer("seen", torch.ones(1));
      wide.unregister_module("last");
      String before = wide.values();
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(TrainingState.builder().module("model", wide).build()))
          .withMessageContaining("part model: the state does not fit: ")
          .withMessageContaining("missing names: seen; unexpected names: last.bias, last.weight; ")
          .withMessageContaining(
              "tensor first.weight must be Float [9, 4] as here, but the state has Float [8, 4]; ")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISMATCH));
      assertThat(wide.values()).isEqualTo(before);
    }
  }

  @Test
  void otherPartsAreRefused() {
    SmallNet net = new SmallNet();
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, TrainingState.builder().module("model", net).build());
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(TrainingState.builder().module("net", net).build()))
          .withMessageEndingWith(
              "the checkpoint lacks the parts [net] of this state and has [model] in addition; name all"
                  + " parts as the training that saved it, or use another folder of checkpoints")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISMATCH));
    }
  }

  @Test
  void namesOfPartsAreCheckedAndUnique() {
    SmallNet net = new SmallNet();
    for (String name : new String[] {"", "a/b", "..", "a".repeat(65), "é"}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TrainingState.builder().module(name, net))
          .withMessageContaining("letters, digits");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TrainingState.builder().module("a", net).module("a", net))
        .withMessageContaining("two parts named a");
  }

  @Test
  void optimizersThatCannotBeNamedAreRefused() {
    SmallNet net = new SmallNet();
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> TrainingState.builder().optimizer("sgd", Kind.SGD.of(net), new SmallNet()))
        .withMessage("parameter 0 of group 0 of the optimizer is not one of the module");
    Optimizer other = new LBFGS(net.all(), new LBFGSOptions(0.1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TrainingState.builder().optimizer("lbfgs", other, net))
        .withMessage("the optimizer must be SGD, Adam, AdamW, RMSprop or Adagrad");
  }

  @Test
  void aMalformedStateOfAnOptimizerIsRefusedAndChangesNothing() {
    SmallNet net = new SmallNet();
    Optimizer adam = Kind.ADAM.of(net);
    net.train(adam, 0, 2);
    Stateful part = new OptimizerParts(adam, net);
    try (StateDict good = part.stateDict();
        StateDict before = part.stateDict()) {
      assertRefused(part, good, "\"Adam\"", "\"SGD\"", "must be of the kind Adam, got SGD");
      assertRefused(part, good, "\"version\":1", "\"version\":2", "version");
      assertRefused(part, good, "\"first.weight\",", "", "missing names: first.weight");
      assertRefused(part, good, "\"eps\":1.0E-6", "\"eps\":\"x\"", "must have a number");
      assertRefused(part, good, "[0.9,0.999]", "[0.9]", "betas must be two numbers");
      assertRefused(part, good, "\"amsgrad\":false", "\"amsgrad\":true", "lacks the tensor");
      assertRefused(
          part, good, "\"amsgrad\"", "\"x\":1,\"amsgrad\"", "has the unknown field param_groups.x");
      String moments = "state.first.weight.exp_avg";
      assertRefused(part, with(good, moments, null), "lacks the tensor " + moments);
      assertRefused(part, with(good, moments, torch.ones(1)), "as its parameter, got Float [1]");
      assertRefused(part, with(good, "state.x.step", torch.ones(1)), "does not keep: state.x.step");
      String steps = "state.first.weight.step";
      for (double wrong : new double[] {-1, 0.5, Double.NaN, 1e300}) {
        Tensor tensor = torch.full(new long[0], new Scalar(wrong), doubles());
        assertRefused(part, with(good, steps, tensor), "whole number of steps");
      }
      assertRefused(part, with(good, steps, torch.ones(2)), "whole number of steps");
      try (StateDict after = part.stateDict()) {
        assertThat(after.json()).isEqualTo(before.json());
        before.tensors().forEach((n, t) -> assertThat(t.equal(after.tensors().get(n))).isTrue());
      }
    }
  }

  @Test
  void anOptimizerIsRestoredByNameIfItsModulesWereReordered() {
    try (PointerScope scope = new PointerScope()) {
      Module saved = linears("a", "b");
      Module loaded = linears("b", "a");
      Optimizer adam = stepped(saved);
      Optimizer other = new Adam(loaded.parameters(), new AdamOptions(0.5));
      try (StateDict state = new OptimizerParts(adam, saved).stateDict()) {
        new OptimizerParts(other, loaded).loadStateDict(state);
        try (StateDict restored = new OptimizerParts(other, loaded).stateDict()) {
          assertThat(restored.json()).contains("\"lr\":0.25").contains("[\"b.weight\"");
          assertThat(restored.tensors().keySet()).isEqualTo(state.tensors().keySet());
          state
              .tensors()
              .forEach(
                  (name, tensor) ->
                      assertThat(tensor.equal(restored.tensors().get(name))).as(name).isTrue());
        }
      }
    }
  }

  private static Module linears(String... names) {
    Module module = new Module();
    for (String name : names) {
      module.register_module(name, new LinearImpl(2, 2));
    }
    return module;
  }

  private static Optimizer stepped(Module module) {
    Optimizer adam = new Adam(module.parameters(), new AdamOptions(0.25));
    ModuleState.parameters(module)
        .values()
        .forEach(parameter -> parameter.mul(torch.rand_like(parameter)).sum().backward());
    adam.step();
    return adam;
  }

  private static StateDict with(StateDict state, String name, @Nullable Tensor tensor) {
    Map<String, Tensor> tensors = new TreeMap<>(state.tensors());
    if (tensor == null) {
      tensors.remove(name);
    } else {
      tensors.put(name, tensor);
    }
    return StateDict.of(state.json(), tensors);
  }

  private static void assertRefused(
      Stateful part, StateDict state, String from, String to, String message) {
    assertThat(state.json()).contains(from);
    assertRefused(part, StateDict.of(state.json().replace(from, to), state.tensors()), message);
  }

  private static void assertRefused(Stateful part, StateDict state, String message) {
    try (state) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> part.loadStateDict(state))
          .withMessageContaining(message);
    }
  }

  @Test
  void stepsBeyondFloat32AreExact() {
    SmallNet net = new SmallNet();
    Optimizer adam = Kind.ADAM.of(net);
    net.train(adam, 0, 1);
    Stateful part = new OptimizerParts(adam, net);
    String steps = "state.first.weight.step";
    try (StateDict state = part.stateDict()) {
      assertThat(StateDict.describe(requireNonNull(state.tensors().get(steps))))
          .isEqualTo("Float []");
      Tensor many = torch.full(new long[0], new Scalar((1L << 24) + 1.0), doubles());
      try (StateDict later = with(state, steps, many)) {
        part.loadStateDict(later);
      }
    }
    try (StateDict state = part.stateDict()) {
      assertThat(requireNonNull(state.tensors().get(steps)).item_double())
          .isEqualTo((1L << 24) + 1.0);
    }
  }

  private static TensorOptions doubles() {
    return new TensorOptions(torch.ScalarType.Double);
  }

  @Test
  void aMalformedGeneratorIsRefused() {
    Stateful part = new GeneratorState(torch.getDefaultCPUGenerator());
    try (StateDict state = part.stateDict()) {
      Tensor zeros = torch.zeros_like(state.tensors().get("state"));
      assertRefused(part, StateDict.of(state.json(), Map.of("state", zeros)), "generator");
      assertRefused(part, StateDict.of(state.json(), Map.of()), "missing names: state");
    }
  }

  @Test
  void statesHaveTheDigitsOfJsonInEveryLocale() {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      long[] number = {7};
      TrainingState state =
          TrainingState.builder()
              .module("model", new SmallNet())
              .generator("random", torch.getDefaultCPUGenerator())
              .number("number", () -> number[0], loaded -> number[0] = loaded)
              .build();
      checkpoints.save(5, state);
      number[0] = 0;
      assertThat(checkpoints.load(state)).isPresent();
      assertThat(number[0]).isEqualTo(7);
    } finally {
      Locale.setDefault(before);
    }
  }
}
