// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.checkpoint.CheckpointOptions;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.checkpoint.TrainingState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The rates of checkpoints, and of {@code dd} in turns: {@code FOLDER ROUNDS GIGABYTES}. Printed
 * are the medians in MB/s, and the median, least and greatest ratio of a round. A state of several
 * gigabytes is one tensor under several names.
 */
public final class CheckpointBenchmark {
  /** Of whole blocks of the disk, as direct writes must have. */
  private static final int PIECE = 4_096_000;

  private static final int PIECES = 244;
  private static final long GIGABYTE = (long) PIECE * PIECES;

  private final Path folder;
  private final int gigabytes;
  private final Map<String, List<Double>> rates = new TreeMap<>();

  private CheckpointBenchmark(Path folder, int gigabytes) {
    this.folder = folder;
    this.gigabytes = gigabytes;
  }

  /**
   * Measures and prints.
   *
   * @param args a folder of the disk, the rounds, and the gigabytes of the state
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory(Path.of(args[0]), "torchfeed-checkpoints");
    try {
      CheckpointBenchmark benchmark = new CheckpointBenchmark(folder, Integer.parseInt(args[2]));
      benchmark.run(Integer.parseInt(args[1]));
      benchmark.print();
    } finally {
      TemporaryFolder.delete(folder);
    }
  }

  /** A state of tensors that all are the same memory. */
  private record OneTensor(Tensor tensor, int names) implements Stateful {
    private Map<String, Tensor> tensors() {
      Map<String, Tensor> all = new TreeMap<>();
      for (int i = 0; i < names; i++) {
        all.put("tensor" + i, tensor);
      }
      return all;
    }

    @Override
    public StateDict stateDict() {
      return StateDict.of("{}", tensors());
    }

    @Override
    public StateDict sharedStateDict() {
      return StateDict.sharing("{}", tensors());
    }

    @Override
    public void loadStateDict(StateDict state) {
      state.copyTo(tensors());
    }
  }

  /** An operation to be timed. */
  private interface Operation {
    void run() throws IOException, InterruptedException;
  }

  private void time(String name, Operation operation) throws IOException, InterruptedException {
    long start = System.nanoTime();
    operation.run();
    double seconds = (System.nanoTime() - start) / 1e9;
    rates
        .computeIfAbsent(name, each -> new ArrayList<>())
        .add(gigabytes * (GIGABYTE / 1e6) / seconds);
  }

  private void run(int rounds) throws IOException, InterruptedException {
    Path file = folder.resolve("file");
    try (Tensor tensor = torch.randn(GIGABYTE / Float.BYTES);
        Checkpoints checkpoints =
            Checkpoints.open(folder.resolve("run"), CheckpointOptions.defaults().withKept(1))) {
      TrainingState state =
          TrainingState.builder().part("tensor", new OneTensor(tensor, gigabytes)).build();
      for (int i = 0; i < rounds; i++) {
        time("write dd oflag=direct", () -> write(file, "oflag=direct"));
        time("write dd conv=fsync", () -> write(file, "conv=fsync"));
        Files.delete(file);
        time("write Checkpoints.save", () -> checkpoints.save(1, state));
        Path saved = largest(folder.resolve("run"));
        PageCache.drop(saved);
        time("read dd iflag=direct", () -> read(saved, "iflag=direct"));
        PageCache.drop(saved);
        time("read dd", () -> read(saved));
        PageCache.drop(saved);
        time("read Checkpoints.load", () -> checkpoints.load(state));
      }
    }
  }

  private static Path largest(Path run) throws IOException {
    try (Stream<Path> all = Files.walk(run)) {
      return all.filter(file -> file.toString().endsWith(".safetensors")).findFirst().orElseThrow();
    }
  }

  private void write(Path file, String option) throws IOException, InterruptedException {
    dd("if=/dev/zero", "of=" + file, "bs=" + PIECE, "count=" + gigabytes * PIECES, option);
  }

  private static void read(Path file, String... options) throws IOException, InterruptedException {
    List<String> all = new ArrayList<>(List.of("if=" + file, "of=/dev/null", "bs=" + PIECE));
    all.addAll(List.of(options));
    dd(all.toArray(String[]::new));
  }

  private static void dd(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("dd", "status=none"));
    command.addAll(List.of(arguments));
    int status = new ProcessBuilder(command).inheritIO().start().waitFor();
    if (status != 0) {
      throw new IOException("dd exited with status " + status);
    }
  }

  private void print() {
    System.out.printf(
        Locale.ROOT,
        "| %d GB | MB/s | ratio to it (least, greatest) |%n|---|---|---|%n",
        gigabytes);
    rates.forEach(
        (name, values) -> {
          String mine =
              name.startsWith("write") ? "write Checkpoints.save" : "read Checkpoints.load";
          List<Double> ours = rates.getOrDefault(mine, List.of());
          double[] ratios = new double[values.size()];
          for (int i = 0; i < ratios.length; i++) {
            ratios[i] = ours.get(i) / values.get(i);
          }
          Arrays.sort(ratios);
          System.out.printf(
              Locale.ROOT,
              "| %s | %.0f | %.2f (%.2f, %.2f) |%n",
              name,
              median(values),
              ratios[ratios.length / 2],
              ratios[0],
              ratios[ratios.length - 1]);
        });
  }

  private static double median(List<Double> values) {
    double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return sorted[sorted.length / 2];
  }
}
