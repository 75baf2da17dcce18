// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests that Python, with torch and safetensors alone, continues checkpoints, and the reverse. */
@ExtendWith(LeakCheck.class)
class PythonCheckpointTest {
  private static final Path SCRIPT = Path.of("src", "test", "golden", "python_checkpoints.py");
  private static final int STEPS = 20;

  // The libraries of both sides add in other orders.
  private static final double TOLERANCE = 1e-4;

  private static final Map<String, TrainingStateTest.Kind> KINDS =
      new LinkedHashMap<>(
          Map.of(
              "SGD", TrainingStateTest.Kind.SGD,
              "Adam", TrainingStateTest.Kind.ADAM,
              "AdamW", TrainingStateTest.Kind.ADAM_W));

  private final Path folder;

  PythonCheckpointTest(@TempDir Path folder) throws Exception {
    TestPython.assumePackage("safetensors");
    this.folder = folder;
  }

  private static TrainingState state(SmallNet net, Optimizer optimizer) {
    return TrainingState.builder()
        .module("model", net)
        .optimizer("optimizer", optimizer, net)
        .build();
  }

  private Map<String, List<Double>> python(String mode) throws Exception {
    Map<String, List<Double>> losses = new LinkedHashMap<>();
    try (TestJvm python = TestPython.start(folder, Map.of(), SCRIPT, mode, folder.toString())) {
      assertThat(python.exitCode()).as("%s", python.output()).isZero();
      for (String line : python.output()) {
        List<String> words = List.of(line.split(" "));
        losses.put(
            words.get(0), words.subList(1, words.size()).stream().map(Double::valueOf).toList());
      }
    }
    assertThat(losses.keySet()).isEqualTo(KINDS.keySet());
    return losses;
  }

  private static List<Double> losses(SmallNet net, Optimizer optimizer, int from) {
    List<Double> losses = new ArrayList<>();
    for (int step = from; step < from + STEPS; step++) {
      losses.add((double) net.train(optimizer, step, step + 1));
    }
    return losses;
  }

  private static void assertSame(List<Double> losses, List<Double> expected) {
    assertThat(losses).hasSameSizeAs(expected);
    for (int i = 0; i < losses.size(); i++) {
      assertThat(losses.get(i)).as("step %d", i).isCloseTo(expected.get(i), within(TOLERANCE));
    }
  }

  @Test
  void pythonContinuesWithTheLossesOfJava() throws Exception {
    torch.manual_seed(11);
    Map<String, List<Double>> expected = new LinkedHashMap<>();
    for (Map.Entry<String, TrainingStateTest.Kind> kind : KINDS.entrySet()) {
      SmallNet net = new SmallNet(8, 0);
      Optimizer optimizer = kind.getValue().of(net);
      net.train(optimizer, 0, 4);
      try (Checkpoints checkpoints = Checkpoints.open(folder.resolve(kind.getKey()))) {
        checkpoints.save(4, state(net, optimizer));
      }
      expected.put(kind.getKey(), losses(net, optimizer, 4));
    }
    Map<String, List<Double>> losses = python("continue");
    expected.forEach((kind, ofJava) -> assertSame(requireNonNull(losses.get(kind)), ofJava));
  }

  @Test
  void javaContinuesWithTheLossesOfPython() throws Exception {
    Map<String, List<Double>> expected = python("write");
    for (Map.Entry<String, TrainingStateTest.Kind> kind : KINDS.entrySet()) {
      SmallNet net = new SmallNet(8, 0);
      Optimizer optimizer = kind.getValue().withOtherRate(net);
      try (Checkpoints checkpoints = Checkpoints.open(folder.resolve(kind.getKey()))) {
        assertThat(checkpoints.load(state(net, optimizer)).orElseThrow().step()).isEqualTo(3);
      }
      assertSame(losses(net, optimizer, 3), requireNonNull(expected.get(kind.getKey())));
    }
  }
}
