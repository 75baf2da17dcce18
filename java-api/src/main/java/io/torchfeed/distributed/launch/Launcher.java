// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.FreeMemory;
import io.torchfeed.internal.Once;
import io.torchfeed.internal.RankVariables;
import io.torchfeed.internal.ReservedPort;
import io.torchfeed.internal.TimeLimit;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A launcher that starts the ranks of one machine, each in its own JVM, and waits for them.
 *
 * <p>Each rank's environment has {@code RANK}, {@code LOCAL_RANK}, {@code WORLD_SIZE}, {@code
 * LOCAL_WORLD_SIZE}, {@code MASTER_ADDR} (127.0.0.1), {@code MASTER_PORT} (a free port), {@code
 * TORCHFEED_JOB_ID} (random) and, unless it is already set, {@code OMP_NUM_THREADS}: the number of
 * processors divided by the number of ranks. The ranks use the JVM, class path and module path of
 * the launching process. When one rank fails, the others are terminated. No rank outlives the
 * launcher: a launcher that is interrupted or terminated ends its ranks, and if it is killed
 * outright, ranks in a {@link io.torchfeed.distributed.ProcessGroup} notice within a second.
 *
 * <p>More ranks than four for each processor, or than the available memory allows with 200 MiB for
 * each, are refused, unless {@link Builder#oversubscribe} is set: they would make the machine
 * unusable. Most ranks need more memory than that.
 *
 * <p>Rank 0 inherits standard input and output by default; each line of output from the other ranks
 * is prefixed with {@code [rank r]}. Immutable; each {@link #run} starts a new set of processes.
 *
 * <pre>{@code
 * Launcher.builder().ranks(2).mainClass(Train.class).arguments("--epochs", "3").build().run();
 * }</pre>
 */
public final class Launcher {
  private static final Duration DEFAULT_GRACE = Duration.ofSeconds(5);
  private static final int RANKS_PER_PROCESSOR = 4;

  /** Less than a rank has to itself that trains a net of 5 MB: 280 to 360 MiB. */
  private static final long BYTES_PER_RANK = 200L << 20;

  private final int ranks;
  private final String mainClass;
  private final List<String> arguments;
  private final List<String> jvmOptions;
  private final Map<String, String> environment;
  private final boolean prefixRankZero;
  private final boolean oversubscribe;
  private final Duration grace;

  private Launcher(Builder builder, String mainClass) {
    this.ranks = builder.ranks == null ? 1 : builder.ranks;
    this.mainClass = mainClass;
    this.arguments = List.copyOf(builder.arguments);
    this.jvmOptions = List.copyOf(builder.jvmOptions);
    this.environment = Map.copyOf(builder.environment);
    this.prefixRankZero = Boolean.TRUE.equals(builder.prefixRankZero);
    this.oversubscribe = Boolean.TRUE.equals(builder.oversubscribe);
    this.grace = builder.grace == null ? DEFAULT_GRACE : builder.grace;
  }

  /**
   * Returns a builder for a launch.
   *
   * @return a builder with one rank and no main class
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Starts all ranks and returns when all have exited successfully.
   *
   * <p>After a failure, the other ranks have one second to report the peer they lost, or three
   * seconds if every failed rank reports a lost peer, since the first to fail is then still
   * running. Ranks that have exited are not waited for.
   *
   * @throws LaunchException if a rank could not be started or failed, or its output could not be
   *     forwarded; the others have been terminated. Also, before any is started, if the available
   *     memory is too small for all ranks
   * @throws InterruptedException if this thread is interrupted; all ranks have been terminated
   */
  public void run() throws InterruptedException {
    if (!oversubscribe) {
      requireMemory(ranks, FreeMemory.bytes());
    }
    try (ReservedPort port = ReservedPort.open();
        LossNotes notes = LossNotes.create();
        RunningRanks running = new RunningRanks(grace, RunningRanks.Patience.DEFAULT)) {
      String job = UUID.randomUUID().toString();
      for (int i = 0; i < ranks; i++) {
        int rank = i;
        running.start(
            onOutputFailure -> start(rank, port.number(), job, notes.of(rank), onOutputFailure));
      }
      running.await();
    } catch (IOException e) {
      throw LaunchException.notStarted(0, e);
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

  private RankProcess start(
      int rank, int port, String job, Path lossNote, Consumer<RankProcess> onOutputFailure) {
    ProcessBuilder builder = new ProcessBuilder(command());
    Map<String, String> variables = builder.environment();
    int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / ranks);
    variables.putIfAbsent("OMP_NUM_THREADS", Integer.toString(threads));
    variables.putAll(environment);
    variables.put("RANK", Integer.toString(rank));
    variables.put("LOCAL_RANK", Integer.toString(rank));
    variables.put("WORLD_SIZE", Integer.toString(ranks));
    variables.put("LOCAL_WORLD_SIZE", Integer.toString(ranks));
    variables.put("MASTER_ADDR", "127.0.0.1");
    variables.put("MASTER_PORT", Integer.toString(port));
    variables.put(RankVariables.JOB, job);
    variables.put(RankVariables.LAUNCHER, Long.toString(ProcessHandle.current().pid()));
    variables.put(RankVariables.LOSS_NOTE, lossNote.toString());
    try {
      return rank == 0 && !prefixRankZero
          ? RankProcess.inheriting(rank, builder, lossNote)
          : RankProcess.prefixed(rank, builder.start(), lossNote, onOutputFailure);
    } catch (IOException e) {
      throw LaunchException.notStarted(rank, e);
    }
  }

  private List<String> command() {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    addPath(command, "--module-path", System.getProperty("jdk.module.path"));
    addPath(command, "--class-path", System.getProperty("java.class.path"));
    command.addAll(jvmOptions);
    if (mainClass.indexOf('/') >= 0) {
      command.add("--module");
    }
    command.add(mainClass);
    command.addAll(arguments);
    return command;
  }

  private static void addPath(List<String> command, String option, @Nullable String path) {
    if (path != null && !path.isEmpty()) {
      command.add(option);
      command.add(path);
    }
  }

  /** A builder for a launch. Each option may be set once, except those that add values. */
  public static final class Builder {
    private @Nullable Integer ranks;
    private @Nullable String mainClass;
    private final List<String> arguments = new ArrayList<>();
    private final List<String> jvmOptions = new ArrayList<>();
    private final Map<String, String> environment = new HashMap<>();
    private @Nullable Boolean prefixRankZero;
    private @Nullable Boolean oversubscribe;
    private @Nullable Duration grace;

    private Builder() {}

    /**
     * Sets the number of processes to start.
     *
     * @param ranks at least 1, and at most four for each processor unless {@link #oversubscribe} is
     *     set
     * @return this
     */
    public Builder ranks(int ranks) {
      if (ranks < 1) {
        throw new IllegalArgumentException("ranks must be at least 1, got " + ranks);
      }
      this.ranks = Once.set("ranks", this.ranks, ranks);
      return this;
    }

    /**
     * Sets the class whose {@code main} each rank runs; it is launched as a module if it is in a
     * named module.
     *
     * @param mainClass a class with a {@code main} method
     * @return this
     */
    public Builder mainClass(Class<?> mainClass) {
      requireNonNull(mainClass, "mainClass");
      String module = mainClass.getModule().isNamed() ? mainClass.getModule().getName() + '/' : "";
      return mainClass(module + mainClass.getName());
    }

    /**
     * Sets the class whose {@code main} each rank runs.
     *
     * @param mainClass its binary name, or {@code module/class}
     * @return this
     */
    public Builder mainClass(String mainClass) {
      this.mainClass =
          Once.set("mainClass", this.mainClass, requireNonNull(mainClass, "mainClass"));
      return this;
    }

    /**
     * Adds program arguments.
     *
     * @param arguments passed to every rank
     * @return this
     */
    public Builder arguments(String... arguments) {
      requireNonNull(arguments, "arguments");
      this.arguments.addAll(Checks.copyOf("arguments", Arrays.asList(arguments)));
      return this;
    }

    /**
     * Adds JVM options.
     *
     * @param options passed to every rank, for example {@code -Xmx2g}
     * @return this
     */
    public Builder jvmOptions(String... options) {
      requireNonNull(options, "options");
      jvmOptions.addAll(Checks.copyOf("options", Arrays.asList(options)));
      return this;
    }

    /**
     * Sets an environment variable for all ranks. The variables that name ranks and the master are
     * overwritten.
     *
     * @param name the name of the variable
     * @param value the value of the variable
     * @return this
     */
    public Builder environment(String name, String value) {
      environment.put(requireNonNull(name, "name"), requireNonNull(value, "value"));
      return this;
    }

    /**
     * Sets whether the output of rank 0 is prefixed like that of the others. By default it is
     * inherited, so that a progress bar still sees the terminal.
     *
     * @param prefixRankZero true to prefix
     * @return this
     */
    public Builder prefixRankZero(boolean prefixRankZero) {
      this.prefixRankZero = Once.set("prefixRankZero", this.prefixRankZero, prefixRankZero);
      return this;
    }

    /**
     * Sets whether more ranks are started than processors and memory of this machine allow. By
     * default they are refused, because hundreds of JVMs can make a machine unusable.
     *
     * @param oversubscribe true to start them
     * @return this
     */
    public Builder oversubscribe(boolean oversubscribe) {
      this.oversubscribe = Once.set("oversubscribe", this.oversubscribe, oversubscribe);
      return this;
    }

    /**
     * Sets how long ranks have to terminate before they are killed; 5 seconds by default.
     *
     * @param grace at least 0
     * @return this
     */
    public Builder grace(Duration grace) {
      this.grace = Once.set("grace", this.grace, TimeLimit.notNegative("grace", grace));
      return this;
    }

    /**
     * Builds the launcher.
     *
     * @return the launcher
     * @throws IllegalStateException if no main class was set
     * @throws IllegalArgumentException if there are too many ranks for the processors of this
     *     machine
     */
    public Launcher build() {
      if (mainClass == null) {
        throw new IllegalStateException("mainClass must be set");
      }
      Launcher launcher = new Launcher(this, mainClass);
      if (!launcher.oversubscribe) {
        requireProcessors(launcher.ranks, Runtime.getRuntime().availableProcessors());
      }
      return launcher;
    }
  }
}
