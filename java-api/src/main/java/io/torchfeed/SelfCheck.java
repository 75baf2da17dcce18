// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.Libtorch;
import io.torchfeed.bindings.LoadFailure;
import io.torchfeed.bindings.NativeText;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The self-check of {@link Torchfeed#main}: prints one line for each fact tried on this machine.
 */
final class SelfCheck {
  private static final String LIBRARIES_HINT =
      "\"The native libraries cannot be loaded\" in the README of java-api lists the reasons";
  private static final String CUDA_HINT =
      "the libtorch on the class path is for GPUs, which needs CUDA's libraries: add"
          + " org.bytedeco:cuda-redist with the classifier %s to the class path, and put the folders"
          + " of cuBLAS, cuDNN, cuSPARSE, cuSOLVER and NCCL on LD_LIBRARY_PATH, for example"
          + " nvidia/*/lib of a Python environment; the README of java-api lists them";

  private static final String JARS_HINT =
      "put the jars of the presets without a classifier, org.bytedeco:pytorch and"
          + " org.bytedeco:javacpp, on the class path, or their platform artifacts, which need them;"
          + " if they are on it, raise the limit of open files (ulimit -n)";

  private static final String SYSTEM_HINT =
      "use a system that the table of platforms in torchfeed's README lists";

  private final PrintStream out;
  private boolean healthy = true;

  private SelfCheck(PrintStream out) {
    this.out = out;
  }

  /** Runs every check; returns false if one failed. */
  static boolean run(PrintStream out) {
    SelfCheck check = new SelfCheck(out);
    check.line("torchfeed", Torchfeed.version());
    check.line(
        "java", System.getProperty("java.version") + ", " + System.getProperty("java.vm.name"));
    check.step("presets", jarsHint(), SelfCheck::presets);
    if (check.healthy) {
      check.libtorch();
    }
    check.line("result", check.healthy ? "ok" : "NOT OK");
    return check.healthy;
  }

  /** Runs the checks that need the classes of the presets. */
  private void libtorch() {
    String platform = Loader.getPlatform();
    boolean isForGpus = isForGpus(platform);
    String cudaHint = CUDA_HINT.formatted(platform);
    String hint = isForGpus ? cudaHint : LIBRARIES_HINT;
    step("libtorch", Libtorch.obstacle().isEmpty() ? hint : SYSTEM_HINT, this::libraries);
    if (healthy) {
      if (isForGpus) {
        step("cuda", cudaHint, this::cuda);
      }
      step("devices", "libtorch could not enumerate devices", this::devices);
      step("sampler", "report this with the lines above", this::sampler);
      step("gather", "report this with the lines above", this::gather);
    }
  }

  /** A single check. */
  private interface Step {
    void run() throws Exception;
  }

  // Every failure is reported, including missing libraries, which are errors.
  @SuppressWarnings("CatchingUnchecked")
  private void step(String name, String hint, Step step) {
    try {
      step.run();
    } catch (Exception | LinkageError e) {
      healthy = false;
      line(name, "FAILED: " + e);
      line("", "hint: " + hint);
    }
  }

  private void line(String name, String text) {
    out.printf("%-10s %s%n", name, text);
  }

  private void libraries() {
    String own = Libtorch.version();
    String presets = libtorchOfPresets();
    if (!presets.isEmpty() && !presets.equals(own)) {
      throw new IllegalStateException(
          "torchfeed-native is for libtorch %s, but the presets are for %s; torchfeed-bom has both"
              .formatted(own, presets));
    }
    Facade.load();
    String compiled = torchfeed.compiled_libtorch_version().getString();
    String loaded = torchfeed.loaded_libtorch_version().getString();
    line("libtorch", loaded + ", facade compiled for " + compiled);
    line("compiler", torchfeed.compiler_version().getString());
    line("vectors", NativeText.of(torchfeed.vector_instructions()));
    if (!compiled.equals(loaded) || !own.equals(loaded)) {
      throw new IllegalStateException(
          "the facade was compiled for libtorch %s, its classes for %s, but %s is loaded"
              .formatted(compiled, own, loaded));
    }
    for (Map.Entry<String, String> library :
        new TreeMap<>(Loader.getLoadedLibraries()).entrySet()) {
      line("loaded", library.getKey() + " from " + library.getValue());
    }
  }

  /** Returns the version of their libtorch; empty if a jar with all dependencies lacks it. */
  private static String libtorchOfPresets() {
    try {
      return Loader.getVersion("org.bytedeco", "pytorch", torch.class).replaceFirst("-.*", "");
    } catch (IOException e) {
      return "";
    }
  }

  private static void presets() throws ClassNotFoundException {
    Class.forName("org.bytedeco.javacpp.Loader");
    Class.forName("org.bytedeco.pytorch.global.torch", false, SelfCheck.class.getClassLoader());
  }

  /** A jar that cannot be opened is as one that is missing. */
  private static String jarsHint() {
    try {
      String closed = LoadFailure.unreadableJar();
      return closed.isEmpty() ? JARS_HINT : closed;
    } catch (NoClassDefFoundError e) {
      return JARS_HINT; // the jar of torchfeed-native is one of them
    }
  }

  private static boolean isForGpus(String platform) {
    String library = "/org/bytedeco/pytorch/" + platform + "-gpu/libtorch_cuda.so";
    return torch.class.getResource(library) != null;
  }

  private void cuda() {
    String missing = NativeText.of(torchfeed.cuda_obstacle());
    if (!missing.isEmpty()) {
      throw new IllegalStateException("libtorch_cuda.so is not loaded: " + missing);
    }
    line("cuda", "libtorch_cuda.so is loaded");
  }

  private void devices() {
    long count = torchfeed.accelerator_count();
    line("devices", "cpu" + (count == 0 ? "" : ", %d x %s".formatted(count, accelerator())));
    line("threads", torch.get_num_threads() + " within an operation");
    String obstacle = NativeText.of(torchfeed.pinning_obstacle());
    line("pinning", obstacle.isEmpty() ? "memory can be pinned" : "not possible: " + obstacle);
  }

  private static String accelerator() {
    return torchfeed.accelerator_name().getString();
  }

  private void sampler() {
    // The order of libtorch 2.10.0 on Linux; algorithm: std::shuffle of libstdc++ with mt19937(0).
    long[] expected = {0, 2, 1, 5, 9, 8, 4, 7, 6, 3};
    long[] order = new long[10];
    try (Cursor cursor = DistributedRandomSampler.of(10, Part.whole()).epoch(0)) {
      cursor.next(order, 0, order.length);
    }
    boolean equal = Arrays.equals(order, expected);
    if (!equal && Loader.getPlatform().startsWith("linux")) {
      throw new IllegalStateException(
          "the order must be %s, got %s"
              .formatted(Arrays.toString(expected), Arrays.toString(order)));
    }
    line("sampler", Arrays.toString(order) + (equal ? "" : ", differs from that on Linux"));
    long[] sorted = order.clone();
    Arrays.sort(sorted);
    for (int i = 0; i < sorted.length; i++) {
      if (sorted[i] != i) {
        throw new IllegalStateException(
            "the order is not a permutation: " + Arrays.toString(order));
      }
    }
  }

  private void gather() {
    line("gather", Gathering.run());
  }

  /** A class of its own: the verifier loads datasets with it, which need the bindings. */
  private static final class Gathering {
    static String run() {
      try (PointerScope scope = new PointerScope();
          Tensor values = Tensor.create(new float[] {0, 10, 20, 30, 40}, 5, 1);
          TensorDataset data = TensorDataset.of(values);
          DataLoader loader =
              DataLoader.over(data)
                  .sampler(DistributedRandomSampler.of(5, Part.whole()))
                  .batchSize(2)
                  .workers(1)
                  .build();
          Batches batches = loader.epoch(0)) {
        int rows = 0;
        while (batches.hasNext()) {
          Batch batch = batches.next();
          for (int row = 0; row < batch.size(); row++) {
            float value = batch.tensor(0).get(row).item_float();
            if (value != 10f * batch.indices()[row]) {
              throw new IllegalStateException(
                  "row %d of the dataset was gathered as %s"
                      .formatted(batch.indices()[row], value));
            }
            rows++;
          }
        }
        return rows + " rows in " + loader.batches() + " batches, all correct";
      }
    }
  }
}
