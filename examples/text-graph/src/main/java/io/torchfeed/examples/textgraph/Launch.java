// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import io.torchfeed.distributed.launch.LaunchException;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.Progress;
import io.torchfeed.text.TextFileException;
import io.torchfeed.text.TextPartition;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The process that the user starts: finds or generates the edges, then starts the ranks. */
final class Launch {
  /** Java heap of a rank in addition to its edges; the next two are per byte of text. */
  private static final long HEAP_BYTES = 256L << 20;

  private static final long HEAP_PER_BYTE = 6;
  private static final long HEAP_PER_BYTE_OF_CHECK = 8;

  private Launch() {}

  @SuppressWarnings("try") // the folder works by being closed
  static int run(Settings settings) {
    requireRoom(settings);
    try (OutputFolder folder = OutputFolder.create(settings.out())) {
      Settings found = settings.with(locate(settings));
      System.out.println(
          "Ranking with " + settings.ranks() + " processes; files go to " + settings.out());
      launcher(found, Main.class).build().run();
      return 0;
    } catch (LaunchException e) {
      throw CommandException.ofLaunch(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted; all ranks were stopped", e);
    }
  }

  /** Throws if this machine has no room for the ranks, before edges are generated for them. */
  private static void requireRoom(Settings settings) {
    try {
      ranks(settings, Main.class).build();
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongUse("--" + e.getMessage(), e);
    }
  }

  private static LauncherBuilder ranks(Settings settings, Class<?> mainClass) {
    return Launcher.builder()
        .ranks(settings.ranks())
        .oversubscribe(settings.oversubscribe())
        .mainClass(mainClass);
  }

  /** Returns a launcher for the ranks of a run whose data has been found. */
  static LauncherBuilder launcher(Settings settings, Class<?> mainClass) {
    int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / settings.ranks());
    return ranks(settings, mainClass)
        .jvmOptions(
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-Xmx" + heapBytes(settings),
            "-Dorg.bytedeco.javacpp.platform.extension=", // no search for CUDA
            "-Dorg.bytedeco.javacpp.maxBytes=0")
        .environment("OMP_NUM_THREADS", Integer.toString(threads))
        .arguments(settings.toArguments().toArray(new String[0]));
  }

  private static long heapBytes(Settings settings) {
    try {
      long bytes = TextPartition.plan(List.of(GraphRank.data(settings)), 1).bytes();
      return HEAP_BYTES
          + HEAP_PER_BYTE * bytes / settings.ranks()
          + (settings.check() ? HEAP_PER_BYTE_OF_CHECK * bytes : 0);
    } catch (TextFileException e) {
      throw CommandException.wrongUse(String.valueOf(e.getMessage()), e);
    }
  }

  private static String locate(Settings settings) {
    if (settings.data() != null) {
      return settings.data();
    }
    try (Progress progress = GraphRank.progress(settings, "generating edges", settings.edges())) {
      return new EdgeFile(settings.edges(), settings.seed())
          .in(cache(System.getenv()), progress::at)
          .toString();
    }
  }

  static Path cache(Map<String, String> environment) {
    return Optional.ofNullable(environment.get("XDG_CACHE_HOME"))
        .filter(folder -> !folder.isBlank())
        .map(Path::of)
        .orElse(Path.of(System.getProperty("user.home"), ".cache"))
        .resolve(Path.of("torchfeed", "text-graph"));
  }
}
