// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.LaunchException;
import io.torchfeed.distributed.Launcher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The process that the user starts: checks all that can be checked once, then starts the ranks. */
final class Launch {
  /**
   * One thread collects garbage, since each rank has few cores and a small heap. JavaCPP's own
   * limit on the memory of the process reads /proc at each allocation, and libtorch's memory is
   * bounded by the scopes of the training loop.
   */
  private static final String[] RANK_OPTIONS = {
    "-XX:+UseSerialGC",
    "-Xmx512m",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Dorg.bytedeco.javacpp.maxBytes=0",
    "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0"
  };

  private Launch() {}

  static int run(Settings settings) {
    Path data = MnistFolder.ofUser(System.err::println).locate(settings.data());
    Path checkpoint = null;
    if (settings.resume() != null) {
      CheckpointFolder.Found found =
          CheckpointFolder.resolve(
              settings.resume(), line -> System.err.println("warning: " + line));
      Checkpoint.Plan then = found.checkpoint().plan();
      // The sampler's digest needs the data set; the ranks compare it.
      then.requireSame(
          new Checkpoint.Plan(
              settings.seed(), settings.ranks(), settings.batchSize(), then.sampler()));
      checkpoint = found.file();
      System.out.println("Resuming after epoch " + found.checkpoint().epoch() + ": " + checkpoint);
    }
    try {
      Files.createDirectories(settings.out());
    } catch (IOException e) {
      throw new TrainingException(
          "Cannot create --out " + settings.out() + ": " + MnistFolder.describe(e), e);
    }
    System.out.println(
        "Training with " + settings.ranks() + " processes; files go to " + settings.out());
    return startRanks(settings.with(data, checkpoint));
  }

  private static int startRanks(Settings settings) {
    Launcher launcher =
        Launcher.builder()
            .ranks(settings.ranks())
            .mainClass(Main.class)
            .jvmOptions(RANK_OPTIONS)
            .environment("OMP_NUM_THREADS", Integer.toString(settings.threadsPerRank()))
            .arguments(settings.toArguments().toArray(new String[0]))
            .build();
    try {
      launcher.run();
      return 0;
    } catch (LaunchException e) {
      throw new TrainingException(String.valueOf(e.getMessage()), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrainingException("interrupted; all ranks were ended", e);
    }
  }
}
