// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.internal.FreeMemory;
import java.util.OptionalLong;

/**
 * A launcher that starts the ranks of one machine, each in its own JVM, and waits for them.
 *
 * <p>Each rank's environment has {@code RANK}, {@code LOCAL_RANK}, {@code WORLD_SIZE}, {@code
 * LOCAL_WORLD_SIZE}, {@code MASTER_ADDR} (127.0.0.1), {@code MASTER_PORT} (a free port), {@code
 * TORCHFEED_JOB_ID} (random) and, unless it is already set, {@code OMP_NUM_THREADS}: the number of
 * processors divided by the number of ranks. The ranks use the JVM, class path, module path and
 * modules of the launching process; with a module path among their options, only its class path.
 * When one rank fails, the others are terminated. No rank outlives the launcher: a launcher that is
 * interrupted or terminated ends its ranks, and if it is killed outright, ranks in a {@link
 * io.torchfeed.distributed.ProcessGroup} notice within a second.
 *
 * <p>More ranks than four for each processor, or than the available memory allows with 200 MiB for
 * each, are refused, unless {@link LauncherBuilder#oversubscribe} is set: they would make the
 * machine unusable. Most ranks need more memory than that.
 *
 * <p>Rank 0 inherits standard input and output by default; each line of output from the other ranks
 * is prefixed with {@code [rank r]}. Immutable; each {@link #run} starts a new set of processes.
 *
 * <pre>{@code
 * Launcher.builder().ranks(2).mainClass(Train.class).arguments("--epochs", "3").build().run();
 * }</pre>
 *
 * <p>An elastic launch, by {@link LauncherBuilder#elasticRanks(int, int)}, continues while ranks
 * join and leave. It runs the job's {@link io.torchfeed.distributed.membership.Coordinator} in this
 * process, and instead of a rank each process has the variables that {@link
 * io.torchfeed.distributed.membership.Membership#fromEnvironment} reads; {@code LOCAL_RANK} is its
 * number on this machine. A process that fails is replaced, as far as {@link
 * LauncherBuilder#maxRestarts} allows; as is one that is stopped, or that the coordinator has lost,
 * as soon as it has been in this state for the grace period and was killed. One that exits with 0,
 * or leaves as planned, is not. Their names are {@code p0.1}, {@code p1.1}, and after a replacement
 * {@code p1.2}; their output is prefixed with them, and their standard input is empty. If the
 * launcher is killed, they lose the coordinator at once, and are killed within 30 seconds.
 */
public final class Launcher {
  private static final int RANKS_PER_PROCESSOR = 4;

  /** Less than a rank has to itself that trains a net of 5 MB: 280 to 360 MiB. */
  private static final long BYTES_PER_RANK = 200L << 20;

  private final LaunchSettings settings;

  Launcher(LaunchSettings settings) {
    this.settings = settings;
  }

  /**
   * Returns a builder for a launch.
   *
   * @return a builder with one rank and no main class
   */
  public static LauncherBuilder builder() {
    return new LauncherBuilder();
  }

  /**
   * Starts all ranks and returns when all have exited successfully, or, in an elastic launch, when
   * the training is complete and all processes have exited.
   *
   * <p>After a failure of one of a fixed number of ranks, the others have one second to report the
   * peer they lost, or three seconds if every failed rank reports a lost peer, since the first to
   * fail is then still running. Ranks that have exited are not waited for.
   *
   * @throws LaunchException if a rank could not be started or failed, or its output could not be
   *     forwarded; the others have been terminated. Of an elastic launch, if too few are left and
   *     no more can be replaced, or one fails after the training was completed. Also, before any is
   *     started, if the available memory is too small for all ranks, if logs cannot be written, the
   *     host of {@link LauncherBuilder#listen} is unknown, or the coordinator of another machine
   *     cannot be reached or is one of another job
   * @throws IllegalStateException if the coordinator cannot listen, or the JVM does not allow to
   *     handle the signals of {@link LauncherBuilder#forwardSignals}
   * @throws InterruptedException if this thread is interrupted; all ranks have been terminated
   */
  public void run() throws InterruptedException {
    if (!settings.oversubscribe()) {
      requireMemory(settings.processes(), FreeMemory.bytes());
    }
    ElasticSettings elastic = settings.elastic();
    try {
      if (elastic == null) {
        new FixedLaunch(settings).run();
      } else {
        new ElasticLaunch(settings, elastic).run();
      }
    } catch (LaunchException e) {
      ErrorFile.write(e.errorFile(), System.getenv());
      throw e;
    }
  }

  /** Throws if the memory is known not to suffice. */
  static void requireMemory(int ranks, OptionalLong available) {
    long fitting = available.orElse(Long.MAX_VALUE) / BYTES_PER_RANK;
    if (ranks > fitting) {
      throw LaunchException.tooLittleMemory(
          ranks, BYTES_PER_RANK, available.getAsLong(), Math.toIntExact(fitting));
    }
  }

  /** Throws if there are too many ranks for the processors. */
  static void requireProcessors(int ranks, int processors) {
    int most = RANKS_PER_PROCESSOR * processors;
    if (ranks > most) {
      throw new IllegalArgumentException(
          ("ranks must be at most %d on this machine, %d for each of its %d processors, got %d;"
                  + " start fewer, or set oversubscribe")
              .formatted(most, RANKS_PER_PROCESSOR, processors, ranks));
    }
  }
}
