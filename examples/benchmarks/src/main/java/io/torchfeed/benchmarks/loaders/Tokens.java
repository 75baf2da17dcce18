// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.token.TokenFile;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/**
 * The windows of a file of 16-bit ids in random order, as int64 batches: by torchfeed with 0, 1 and
 * 2 workers, and by the loops of {@code peers/tokens.py}, beside a copy of rows of int64 in memory
 * in random order, in turns. Arguments: a folder for the files, the rounds and, unless empty, an
 * interpreter of Python.
 */
public final class Tokens {
  private static final int LENGTH = 1025;
  private static final int STRIDE = LENGTH - 1;
  private static final long TOKENS = 1L << 28;
  private static final int VOCABULARY = 50257;
  private static final List<Integer> BATCHES = List.of(8, 64);
  private static final List<String> LOOPS = List.of("stack", "gather", "litdata 0", "litdata 1");
  private static final double SECONDS = 1;

  /** A way to get windows, measured for a second at a time. */
  @FunctionalInterface
  private interface Form {
    /** Returns the tokens per second. */
    double rate() throws Exception;
  }

  private final Path folder;
  private final Path file;
  private final int rounds;

  private Tokens(Path folder, int rounds) throws IOException {
    this.folder = folder;
    this.rounds = rounds;
    file = folder.resolve("tokens.bin");
    if (!Files.exists(file) || Files.size(file) != 2 * TOKENS) {
      write();
    }
  }

  /** Prints a line for each form and batch size. */
  public static void main(String[] args) throws Exception {
    Tokens all = new Tokens(Path.of(args[0]), Integer.parseInt(args[1]));
    for (int batch : BATCHES) {
      all.compare(batch, args.length > 2 ? args[2] : "");
    }
  }

  private void write() throws IOException {
    SplittableRandom random = new SplittableRandom(1);
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 20)) {
      for (long i = 0; i < TOKENS; i++) {
        int id = random.nextInt(VOCABULARY);
        out.write(id);
        out.write(id >> 8);
      }
    }
  }

  private void compare(int batch, String python) throws Exception {
    Map<String, Form> forms = new LinkedHashMap<>();
    try (BytePointer from = new BytePointer(TOKENS);
        BytePointer into = new BytePointer((long) batch * LENGTH * Long.BYTES);
        NativeDataset windows = TokenFile.raw(DType.UINT16, file).windows(LENGTH);
        DataLoader none = loader(windows, batch, 0);
        DataLoader one = loader(windows, batch, 1);
        DataLoader two = loader(windows, batch, 2);
        PythonLoops loops = new PythonLoops(python, batch)) {
      Pointer.memset(from, 1, from.limit());
      forms.put("a copy of int64 rows", () -> copies(from, into, batch));
      forms.put("torchfeed, 0 workers", () -> windows(none));
      forms.put("torchfeed, 1 worker", () -> windows(one));
      forms.put("torchfeed, 2 workers", () -> windows(two));
      loops.addTo(forms);
      print(batch, forms);
    }
  }

  private static DataLoader loader(NativeDataset windows, int batch, int workers) {
    return DataLoader.over(windows)
        .batchSize(batch)
        .workers(workers)
        .sampler(ShuffledSampler.of(windows.size(), 1))
        .build();
  }

  private void print(int batch, Map<String, Form> forms) throws Exception {
    Map<String, double[]> rates = new LinkedHashMap<>();
    for (Map.Entry<String, Form> form : forms.entrySet()) {
      rates.put(form.getKey(), new double[rounds]);
      form.getValue().rate(); // warms up
    }
    for (int round = 0; round < rounds; round++) {
      for (Map.Entry<String, Form> form : forms.entrySet()) {
        requireNonNull(rates.get(form.getKey()))[round] = form.getValue().rate();
      }
    }
    double[] limit = rates.values().iterator().next();
    rates.forEach(
        (name, found) -> {
          double[] ratios =
              IntStream.range(0, rounds).mapToDouble(i -> found[i] / limit[i]).sorted().toArray();
          double median = Arrays.stream(found).sorted().toArray()[rounds / 2];
          System.out.println(
              String.format(
                  Locale.ROOT,
                  "batch %d, %s: %.0f million tokens/s, %.3f of a copy (%.3f to %.3f)",
                  batch,
                  name,
                  median / 1e6,
                  ratios[rounds / 2],
                  ratios[0],
                  ratios[rounds - 1]));
        });
  }

  private static double copies(BytePointer from, BytePointer into, int batch) {
    SplittableRandom random = new SplittableRandom(2);
    long windows = (from.limit() / Long.BYTES - LENGTH) / STRIDE + 1;
    long start = System.nanoTime();
    for (long tokens = 0; ; tokens += (long) batch * LENGTH) {
      double seconds = (System.nanoTime() - start) / 1e9;
      if (seconds >= SECONDS) {
        return tokens / seconds;
      }
      for (int i = 0; i < batch; i++) {
        from.position(random.nextLong(windows) * STRIDE * Long.BYTES);
        into.position((long) i * LENGTH * Long.BYTES);
        Pointer.memcpy(into, from, (long) LENGTH * Long.BYTES);
      }
    }
  }

  private static double windows(DataLoader loader) {
    long start = System.nanoTime();
    long tokens = 0;
    try (Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        tokens += batch.tensor(0).numel();
        double seconds = (System.nanoTime() - start) / 1e9;
        if (seconds >= SECONDS) {
          return tokens / seconds;
        }
      }
    }
    return tokens / ((System.nanoTime() - start) / 1e9);
  }

  /** The processes of the loops in Python, which last as long as the batch size. */
  private final class PythonLoops implements AutoCloseable {
    private final Map<String, PeerProcess> processes = new LinkedHashMap<>();

    PythonLoops(String python, int batch) throws IOException, InterruptedException {
      for (String loop : python.isEmpty() ? List.<String>of() : LOOPS) {
        try {
          List<String> command =
              List.of(
                  python,
                  "peers/tokens.py",
                  loop,
                  file.toString(),
                  Integer.toString(LENGTH),
                  Integer.toString(batch));
          processes.put(loop, new PeerProcess(command, Map.of(), folder.resolve(loop + ".log")));
        } catch (PeerProcess.MissingException e) {
          System.out.println("Python, " + loop + ": left out, since " + e.why());
        }
      }
    }

    void addTo(Map<String, Form> forms) {
      processes.forEach(
          (name, process) ->
              forms.put(
                  "Python, " + name,
                  () -> {
                    double[] found = process.ask(Double.toString(SECONDS));
                    return found[0] / found[1];
                  }));
    }

    @Override
    public void close() {
      processes.values().forEach(PeerProcess::close);
    }
  }
}
