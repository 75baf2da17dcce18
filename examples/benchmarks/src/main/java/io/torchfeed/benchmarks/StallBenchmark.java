// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.checkpoint.CheckpointOptions;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The time that a step loses to a save in the background: {@code FOLDER ROUNDS LAYERS BATCH}. Steps
 * without a save, with one that copies before it returns, and with one whose copy overlaps with the
 * step, take turns. Each layer has 201 MB of state: 4096 x 4096 weights and two moments.
 */
public final class StallBenchmark {
  private static final int WIDTH = 4096;

  private final Map<String, List<Double>> millis = new TreeMap<>();
  private final Net net;
  private final Tensor batch;

  private StallBenchmark(int layers, int samples) {
    net = new Net(layers);
    batch = torch.randn(samples, WIDTH);
  }

  /** Linear layers and their optimizer. */
  private static final class Net extends Module {
    private final List<LinearImpl> layers = new ArrayList<>();
    private final Adam optimizer;

    Net(int count) {
      for (int i = 0; i < count; i++) {
        layers.add(register_module("layer" + i, new LinearImpl(WIDTH, WIDTH)));
      }
      optimizer = new Adam(parameters(), new AdamOptions(1e-6));
    }

    Tensor loss(Tensor input) {
      Tensor last = input;
      for (LinearImpl layer : layers) {
        last = torch.relu(layer.forward(last));
      }
      return last.square().mean();
    }
  }

  /**
   * Measures and prints.
   *
   * @param args a folder of the disk, the rounds, the layers, and the samples of a batch
   */
  public static void main(String[] args) throws IOException {
    Path folder = Files.createTempDirectory(Path.of(args[0]), "torchfeed-stall");
    try (PointerScope scope = new PointerScope()) {
      new StallBenchmark(Integer.parseInt(args[2]), Integer.parseInt(args[3]))
          .run(folder, Integer.parseInt(args[1]));
    } finally {
      TemporaryFolder.delete(folder);
    }
  }

  private void run(Path folder, int rounds) {
    CheckpointOptions options = CheckpointOptions.defaults().withKept(1);
    try (Checkpoints atOnce = Checkpoints.open(folder.resolve("at-once"), options);
        Checkpoints later =
            Checkpoints.open(folder.resolve("later"), options.withCopyInBackground(true))) {
      TrainingState state =
          TrainingState.builder()
              .module("model", net)
              .optimizer("optimizer", net.optimizer, net)
              .build();
      step("no save", () -> {});
      for (int i = 0; i <= rounds; i++) {
        if (i == 1) {
          millis.clear(); // the first round has warmed up, and has fresh memory
        }
        time("a copy into fresh memory", () -> state.stateDict().close());
        step("no save", () -> {});
        save("copied at once", atOnce, i, state);
        save("copied in the background", later, i, state);
      }
    }
    print();
  }

  private void save(String name, Checkpoints checkpoints, long step, TrainingState state) {
    long start = System.nanoTime();
    time(name + ": call", () -> checkpoints.saveInBackground(step, state));
    step(name, checkpoints::awaitCopied);
    add(name + ": call, step and wait", start);
    checkpoints.await();
  }

  /** A step as a loop has it, which waits before the update. */
  @SuppressWarnings("try") // a scope works by being open
  private void step(String name, Runnable wait) {
    long start = System.nanoTime();
    try (PointerScope scope = new PointerScope()) {
      net.optimizer.zero_grad();
      net.loss(batch).backward();
      add(name + ": forward and backward", start);
      time(name + ": wait", wait);
      net.optimizer.step();
    }
    add(name + ": step", start);
  }

  private void time(String name, Runnable action) {
    long start = System.nanoTime();
    action.run();
    add(name, start);
  }

  private void add(String name, long start) {
    millis.computeIfAbsent(name, each -> new ArrayList<>()).add((System.nanoTime() - start) / 1e6);
  }

  private void print() {
    System.out.println("| | ms (least, greatest) |");
    System.out.println("|---|---|");
    millis.forEach(
        (name, values) -> {
          double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
          System.out.printf(
              Locale.ROOT,
              "| %s | %.1f (%.1f, %.1f) |%n",
              name,
              sorted[sorted.length / 2],
              sorted[0],
              sorted[sorted.length - 1]);
        });
  }
}
