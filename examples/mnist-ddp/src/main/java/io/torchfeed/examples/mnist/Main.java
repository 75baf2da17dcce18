// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.examples.common.Commands;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * The command line. Started by hand, it is the launcher: it downloads the data and starts one
 * process per rank. With {@code RANK} in the environment (set by the launcher, or by torchrun and
 * similar tools), or with the address of an elastic job's coordinator, it is a rank.
 */
@Command(
    name = "train",
    description = {
      "Trains PyTorch's MNIST convnet with several Java processes on this machine.",
      "Each process (a rank) sees its own part of the samples; gradients are averaged after each"
          + " step, so all ranks hold the same parameters."
    },
    footer = {
      "",
      "Example: train --ranks 2 --epochs 3 --out runs/first",
      "Resume:  train --ranks 2 --epochs 6 --out runs/first --resume",
      "Exit status: 0 trained, 1 failed, 2 options, files named by them, or environment variables"
          + " that cannot be used."
    })
final class Main implements Callable<Integer> {
  private static final String RANK = "RANK";
  private static final String COORDINATOR = "TORCHFEED_COORDINATOR_PORT";

  @Mixin private Settings settings = new Settings();
  @Spec private CommandSpec command = CommandSpec.create();

  private final Map<String, String> environment;
  private final CompletableFuture<?> loading;

  private Main(Map<String, String> environment, CompletableFuture<?> loading) {
    this.environment = environment;
    this.loading = loading;
  }

  /**
   * Runs the launcher or a rank and ends the process.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    Map<String, String> environment = System.getenv();
    boolean isRank = environment.containsKey(RANK) || environment.containsKey(COORDINATOR);
    // while options are parsed: loading libtorch is most of the start of a rank
    CompletableFuture<?> loading =
        isRank
            ? CompletableFuture.runAsync(() -> Loader.load(torch.class))
            : CompletableFuture.completedFuture(null);
    int status = commandLine(new Main(environment, loading)).execute(arguments);
    // An exit while another thread loads libtorch may hang: both need the locks of its registry.
    loading.exceptionally(failure -> null).join();
    System.exit(status);
  }

  static CommandLine commandLine(Map<String, String> environment) {
    return commandLine(new Main(environment, CompletableFuture.completedFuture(null)));
  }

  private static CommandLine commandLine(Main main) {
    return Commands.of(main, List.of(), List.of(PeerLostException.class))
        .registerConverter(Algorithm.class, Algorithm::of);
  }

  Settings settings() {
    settings.check();
    return settings;
  }

  @Override
  public Integer call() throws InterruptedException {
    settings.check();
    // Two threads that initialize libtorch's classes may deadlock. A failure recurs in its first
    // use.
    loading.exceptionally(failure -> null).join();
    if (settings.elastic != null && environment.containsKey(COORDINATOR)) {
      Training.asElasticRank(settings);
    } else if (settings.elastic == null && environment.containsKey(RANK)) {
      Training.asRank(settings);
    } else {
      Launch.run(settings, command.commandLine().getParseResult().originalArgs());
    }
    return 0;
  }
}
