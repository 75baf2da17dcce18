// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static io.torchfeed.examples.images.DataFolder.require;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.launch.LaunchException;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.StepCurve;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command that trains: starts the ranks, or is one of them. */
@Command(
    name = "train",
    description = {
      "Trains a small ResNet on random parts of images.",
      "Writes metrics.csv, metrics.png, samples.png (the net's input) and model.pt to --out."
    })
final class Train implements Callable<Integer> {
  @Mixin private DataFolder data = new DataFolder();

  @Option(
      names = "--size",
      paramLabel = "N",
      description = "Height and width of the net's input (default: ${DEFAULT-VALUE}).")
  private int size = 128;

  @Mixin private Loading loading = new Loading();

  @Option(
      names = "--ranks",
      paramLabel = "N",
      description = "Processes that train together (default: ${DEFAULT-VALUE}).")
  private int ranks = 1;

  @Option(
      names = "--oversubscribe",
      description =
          "Start more processes than four for each processor, or than the memory allows for.")
  private boolean oversubscribe;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description = "Passes over the training images (default: ${DEFAULT-VALUE}).")
  private int epochs = 10;

  @Option(
      names = "--lr",
      paramLabel = "X",
      description = "Learning rate of SGD at the start; falls to 0 (default: ${DEFAULT-VALUE}).")
  private double lr = 0.05;

  @Option(
      names = "--augment",
      paramLabel = "WAY",
      description =
          "Change of training images: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
  private Images.Augmentation augmentation = Images.Augmentation.COLOR;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Seed of parameters, order and random parts (default: ${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Folder of the results (default: ${DEFAULT-VALUE}).")
  private Path out = Path.of("runs", "images");

  @Override
  @SuppressWarnings("try") // the folder works by being closed
  public Integer call() throws Exception {
    data.check("train", "val");
    loading.check();
    require(size >= 32 && size <= 1024, "--size must be in [32, 1024], got " + size);
    require(ranks >= 1 && ranks <= 1024, "--ranks must be in [1, 1024], got " + ranks);
    require(epochs >= 1, "--epochs must be at least 1, got " + epochs);
    require(lr > 0, "--lr must be above 0, got " + lr);
    if (System.getenv("RANK") != null) {
      try (ProcessGroup group = ProcessGroup.join()) {
        Training.Options options =
            new Training.Options(data.path(), size, epochs, lr, augmentation, seed, out);
        new Training(group, loading, options).run();
      }
      return 0;
    }
    data.checkClasses();
    int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / ranks);
    Launcher launcher =
        Launcher.builder()
            .ranks(ranks)
            .oversubscribe(oversubscribe)
            .mainClass(Main.class)
            // the work is native: only the Java code that starts a rank takes time
            .jvmOptions(
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.bytedeco.javacpp.platform.extension=", // no search for CUDA
                "-Xmx512m")
            .environment("OMP_NUM_THREADS", Integer.toString(threads))
            .arguments(arguments().toArray(new String[0]))
            .build();
    try (OutputFolder folder = OutputFolder.create(out)) {
      StepCurve.deleteAll(out);
      launcher.run();
    } catch (LaunchException e) {
      throw CommandException.ofLaunch(e);
    }
    System.out.println("the net is in " + out.resolve("model.pt"));
    return 0;
  }

  private List<String> arguments() {
    return List.of(
        "train",
        "--data=" + data.path().toAbsolutePath(),
        "--size=" + size,
        "--batch-size=" + loading.batchSize(),
        "--workers=" + loading.workers(),
        "--ranks=" + ranks,
        "--epochs=" + epochs,
        "--lr=" + lr,
        "--augment=" + augmentation,
        "--seed=" + seed,
        "--out=" + out.toAbsolutePath());
  }
}
