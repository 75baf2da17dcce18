// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.launch.LaunchException;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.elastic.Generation;
import io.torchfeed.elastic.Generations;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.mnist.MnistFolder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The process that the user starts: performs all checks that need no rank, then starts the ranks.
 */
final class Launch {
  /**
   * JVM options of a rank, which spends its time in libtorch: a serial collector, and only the
   * first compiler tier, which starts faster and leaves the cores to libtorch. JavaCPP's limit on
   * the bytes of native objects is off, as a launch sets its limit on the size of the process; the
   * scopes of the training loop bound the memory instead.
   */
  private static final List<String> RANK_OPTIONS =
      List.of(
          "--enable-native-access=ALL-UNNAMED",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-XX:-UsePerfData",
          "-Xmx512m",
          "-Dorg.bytedeco.javacpp.maxBytes=0");

  /** Spares the ranks JavaCPP's search for the libraries of CUDA in all jars. */
  private static final String NO_GPU = "-Dorg.bytedeco.javacpp.platform.extension=";

  /**
   * Variables that make glibc keep the memory of each step's large tensors. By default it returns
   * the memory to the kernel and faults it in again, which costs a tenth of a step. There is one
   * arena, because the arenas of other threads cannot keep the memory.
   */
  private static final Map<String, String> MALLOC =
      Map.of(
          "MALLOC_ARENA_MAX", "1",
          "MALLOC_MMAP_THRESHOLD_", "33554432",
          "MALLOC_TRIM_THRESHOLD_", "1073741824");

  /** The generations of an elastic run that can be run again. */
  private static final int GENERATIONS = 5;

  private Launch() {}

  /**
   * Starts the ranks and waits for their end.
   *
   * @param given the arguments of this process
   */
  @SuppressWarnings("try") // the folder works by being closed
  static void run(Settings settings, List<String> given) throws InterruptedException {
    LauncherBuilder ranks = ranks(settings);
    try {
      ranks.build();
    } catch (IllegalArgumentException e) { // this machine has no room for them
      throw CommandException.wrongUse("--" + e.getMessage(), e);
    }
    Path resume = settings.resume();
    if (resume != null) {
      RunStart.requireAny(resume);
    }
    Path data = data(settings);
    try (OutputFolder folder = OutputFolder.create(settings.out())) {
      System.out.printf(
          "Training with %s%d processes; files go to %s%n",
          settings.elastic == null ? "" : settings.elastic + " to ",
          settings.ranks,
          settings.out());
      ranks.arguments(settings.ofRank(given, data).toArray(new String[0])).build().run();
    } catch (LaunchException e) {
      throw CommandException.ofLaunch(e);
    }
  }

  /** Returns the folder with the data, which the launcher may have verified. */
  static Path data(Settings settings) {
    return settings.verifiedData != null
        ? settings.verifiedData
        : MnistFolder.ofUser(System.err::println).locate(settings.data);
  }

  /** Returns the generations of an elastic run. */
  static Generations generations(Path out) {
    return Generations.open(out.resolve("generations"), GENERATIONS);
  }

  private static LauncherBuilder ranks(Settings settings) {
    LauncherBuilder builder =
        Launcher.builder()
            .mainClass(Main.class)
            .oversubscribe(settings.oversubscribe)
            .jvmOptions(rankOptions(settings).toArray(new String[0]))
            .environment("OMP_NUM_THREADS", Integer.toString(settings.threadsPerRank()));
    MALLOC.forEach(
        (name, value) -> builder.environment(name, System.getenv().getOrDefault(name, value)));
    if (settings.elastic == null) {
      return builder.ranks(settings.ranks);
    }
    builder.events(event -> System.out.println("coordinator: " + event.text()));
    if (settings.fromGeneration == null) {
      return builder.elasticRanks(settings.elastic, settings.ranks);
    }
    try (Generations generations = generations(settings.out())) {
      Generation again = generations.find(settings.fromGeneration);
      return builder
          .elasticRanks(again.ranks(), again.ranks())
          .environment("TORCHFEED_FROM_GENERATION", again.name());
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongUse(String.valueOf(e.getMessage()), e);
    }
  }

  private static List<String> rankOptions(Settings settings) {
    List<String> options = new ArrayList<>(RANK_OPTIONS);
    if (settings.device.equals(TrainingDevice.CPU)) {
      options.add(NO_GPU);
    }
    options.add("-Dtorchfeed.example.terminal=" + Boolean.getBoolean("torchfeed.example.terminal"));
    String archive = System.getProperty("torchfeed.example.archive");
    if (archive != null) {
      options.add("-XX:SharedArchiveFile=" + archive);
      options.add("-Xlog:disable");
    }
    return options;
  }
}
