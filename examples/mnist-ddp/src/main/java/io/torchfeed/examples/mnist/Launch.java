// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.launch.LaunchException;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
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

  private Launch() {}

  @SuppressWarnings("try") // the folder works by being closed
  static int run(Settings settings) {
    LauncherBuilder ranks = ranks(settings);
    Path data = MnistFolder.ofUser(System.err::println).locate(settings.data());
    if (settings.resume() != null) {
      RunCheckpoints.requireAny(settings.resume());
    }
    try (OutputFolder folder = OutputFolder.create(settings.out())) {
      System.out.println(
          "Training with " + settings.ranks() + " processes; files go to " + settings.out());
      return run(ranks, settings.with(data, settings.resume()).toArguments());
    }
  }

  /** Returns a launch without arguments; throws if this machine has no room for its ranks. */
  private static LauncherBuilder ranks(Settings settings) {
    LauncherBuilder builder = processes(settings).ranks(settings.ranks()).mainClass(Main.class);
    requireRoom(builder);
    return builder;
  }

  private static void requireRoom(LauncherBuilder builder) {
    try {
      builder.build();
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongUse("--" + e.getMessage(), e);
    }
  }

  /** Returns a launch with the options of a rank's process, without ranks and main class. */
  static LauncherBuilder processes(Settings settings) {
    LauncherBuilder builder =
        Launcher.builder()
            .oversubscribe(settings.oversubscribe())
            .jvmOptions(rankOptions().toArray(new String[0]))
            .environment("OMP_NUM_THREADS", Integer.toString(settings.threadsPerRank()));
    MALLOC.forEach(
        (name, value) -> builder.environment(name, System.getenv().getOrDefault(name, value)));
    return builder;
  }

  /** Runs a launch to its end; returns the exit status. */
  static int run(LauncherBuilder ranks, List<String> arguments) {
    requireRoom(ranks);
    try {
      ranks.arguments(arguments.toArray(new String[0])).build().run();
      return 0;
    } catch (LaunchException e) {
      throw CommandException.ofLaunch(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted; all ranks were stopped", e);
    }
  }

  private static List<String> rankOptions() {
    List<String> options = new ArrayList<>(RANK_OPTIONS);
    String archive = System.getProperty("torchfeed.example.archive");
    if (archive != null) {
      options.add("-XX:SharedArchiveFile=" + archive);
      options.add("-Xlog:disable");
    }
    return options;
  }
}
