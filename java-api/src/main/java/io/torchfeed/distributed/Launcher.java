// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Starts the ranks of one machine, each a JVM of its own, and waits for them.
 *
 * <p>Each rank gets {@code RANK}, {@code LOCAL_RANK}, {@code WORLD_SIZE}, {@code LOCAL_WORLD_SIZE},
 * {@code MASTER_ADDR} (127.0.0.1), {@code MASTER_PORT} (a free one) and, where it is not set
 * already, {@code OMP_NUM_THREADS}: the processors divided by the ranks. The JVM, class path and
 * module path are those of the launching process. When one rank fails the others are ended. No rank
 * outlives the launcher: one that is interrupted or terminated ends its ranks, and ranks in a
 * {@link ProcessGroup} notice within a second when it was killed outright.
 *
 * <p>Rank 0 inherits standard input and output, unless told otherwise; each line of the others
 * begins with {@code [rank r]}. Immutable; each {@link #run} starts the ranks anew.
 *
 * <pre>{@code
 * Launcher.builder().ranks(2).mainClass(Train.class).arguments("--epochs", "3").build().run();
 * }</pre>
 */
public final class Launcher {
  /** How long the ranks have after a failure to show that it was another one's. */
  private static final Duration SETTLE = Duration.ofSeconds(3);

  private static final int NEVER_STARTED = -1;
  private static final Duration DEFAULT_GRACE = Duration.ofSeconds(5);

  private final int ranks;
  private final String mainClass;
  private final List<String> arguments;
  private final List<String> jvmOptions;
  private final Map<String, String> environment;
  private final boolean prefixRankZero;
  private final Duration grace;

  private Launcher(Builder builder, String mainClass) {
    this.ranks = builder.ranks == null ? 1 : builder.ranks;
    this.mainClass = mainClass;
    this.arguments = List.copyOf(builder.arguments);
    this.jvmOptions = List.copyOf(builder.jvmOptions);
    this.environment = Map.copyOf(builder.environment);
    this.prefixRankZero = Boolean.TRUE.equals(builder.prefixRankZero);
    this.grace = builder.grace == null ? DEFAULT_GRACE : builder.grace;
  }

  /**
   * Starts the description of a launch.
   *
   * @return a builder with one rank and no main class
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Starts all ranks and returns when all have ended well.
   *
   * @throws LaunchException if a rank could not be started or failed; the others have been ended
   * @throws InterruptedException if this thread is interrupted; all ranks have been ended
   */
  public void run() throws InterruptedException {
    List<RankProcess> started = new ArrayList<>();
    AtomicBoolean ending = new AtomicBoolean();
    Thread hook =
        new Thread(
            () -> {
              synchronized (started) {
                ending.set(true);
                end(started);
              }
            },
            "torchfeed-launcher-end");
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      BlockingQueue<RankProcess> ended = startAll(started, ending);
      for (int i = 0; i < ranks; i++) {
        RankProcess rank = ended.take();
        int exitCode = rank.process().exitValue();
        if (exitCode != 0) {
          RankProcess cause = causeAmong(rank, ended);
          end(started);
          throw new LaunchException(
              cause.rank(), cause.process().exitValue(), cause.errorTail(), null);
        }
        rank.errorTail(); // its last lines are out before the call returns
      }
    } finally {
      end(started);
      removeHook(hook);
    }
  }

  /**
   * The rank whose failure ended the others. It need not exit first: one that lost its peer to an
   * exception there may be quicker than the peer, which still closes its group.
   */
  private static RankProcess causeAmong(RankProcess first, BlockingQueue<RankProcess> ended)
      throws InterruptedException {
    List<RankProcess> failed = new ArrayList<>(List.of(first));
    long deadline = System.nanoTime() + SETTLE.toNanos();
    for (long left = SETTLE.toNanos(); left > 0; left = deadline - System.nanoTime()) {
      RankProcess next = ended.poll(left, TimeUnit.NANOSECONDS);
      if (next != null && next.process().exitValue() != 0) {
        failed.add(next);
      }
    }
    for (RankProcess rank : failed) {
      String tail = rank.errorTail();
      if (!tail.isEmpty() && !tail.contains(PeerLostException.class.getSimpleName())) {
        return rank;
      }
    }
    for (RankProcess rank : failed) {
      if (!rank.errorTail().contains(PeerLostException.class.getSimpleName())) {
        return rank;
      }
    }
    return first;
  }

  private BlockingQueue<RankProcess> startAll(List<RankProcess> started, AtomicBoolean ending) {
    BlockingQueue<RankProcess> ended = new LinkedBlockingQueue<>();
    int port = freePort();
    for (int rank = 0; rank < ranks; rank++) {
      synchronized (started) {
        if (ending.get()) {
          break;
        }
        started.add(start(rank, port));
      }
      RankProcess process = started.get(rank);
      var unused = process.process().onExit().thenRun(() -> ended.add(process));
    }
    return ended;
  }

  private RankProcess start(int rank, int port) {
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
    variables.put(ParentWatch.VARIABLE, Long.toString(ProcessHandle.current().pid()));
    try {
      return RankProcess.start(rank, builder, rank == 0 && !prefixRankZero);
    } catch (IOException e) {
      throw new LaunchException(rank, NEVER_STARTED, "", e);
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

  /** Asks all to end, and after the grace ends those that have not. */
  private void end(List<RankProcess> started) {
    started.forEach(rank -> rank.process().destroy());
    long deadline = System.nanoTime() + grace.toNanos();
    boolean interrupted = false;
    for (RankProcess rank : started) {
      long left = Math.max(0, deadline - System.nanoTime());
      try {
        rank.process().waitFor(interrupted ? 0 : left, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
      rank.process().destroyForcibly();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void removeHook(Thread hook) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      return; // the JVM is going down, and the hook does its work
    }
  }

  private static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new LaunchException(0, NEVER_STARTED, "", e);
    }
  }

  /** Describes a launch; each option may be set once, except those that add. */
  public static final class Builder {
    private @Nullable Integer ranks;
    private @Nullable String mainClass;
    private final List<String> arguments = new ArrayList<>();
    private final List<String> jvmOptions = new ArrayList<>();
    private final Map<String, String> environment = new HashMap<>();
    private @Nullable Boolean prefixRankZero;
    private @Nullable Duration grace;

    private Builder() {}

    /**
     * How many processes to start.
     *
     * @param ranks at least 1
     * @return this
     */
    public Builder ranks(int ranks) {
      if (ranks < 1) {
        throw new IllegalArgumentException("ranks must be at least 1, got " + ranks);
      }
      this.ranks = once("ranks", this.ranks, ranks);
      return this;
    }

    /**
     * The class whose {@code main} each rank runs; on the module path if it lies in a named module.
     *
     * @param mainClass a class with a {@code main} method
     * @return this
     */
    public Builder mainClass(Class<?> mainClass) {
      String module = mainClass.getModule().isNamed() ? mainClass.getModule().getName() + '/' : "";
      return mainClass(module + mainClass.getName());
    }

    /**
     * The class whose {@code main} each rank runs.
     *
     * @param mainClass its binary name, or {@code module/class}
     * @return this
     */
    public Builder mainClass(String mainClass) {
      this.mainClass =
          once("mainClass", this.mainClass, Objects.requireNonNull(mainClass, "mainClass"));
      return this;
    }

    /**
     * Adds arguments of the program.
     *
     * @param arguments passed to every rank
     * @return this
     */
    public Builder arguments(String... arguments) {
      this.arguments.addAll(List.of(arguments));
      return this;
    }

    /**
     * Adds options of the JVM.
     *
     * @param options passed to every rank, for example {@code -Xmx2g}
     * @return this
     */
    public Builder jvmOptions(String... options) {
      jvmOptions.addAll(List.of(options));
      return this;
    }

    /**
     * Sets an environment variable of all ranks; those that name ranks and master are set anyway.
     *
     * @param name of the variable
     * @param value of the variable
     * @return this
     */
    public Builder environment(String name, String value) {
      environment.put(name, value);
      return this;
    }

    /**
     * Whether the output of rank 0 is prefixed as that of the others; by default it is inherited,
     * so that its progress bar sees the terminal.
     *
     * @param prefixRankZero true to prefix
     * @return this
     */
    public Builder prefixRankZero(boolean prefixRankZero) {
      this.prefixRankZero = once("prefixRankZero", this.prefixRankZero, prefixRankZero);
      return this;
    }

    /**
     * How long ranks that are asked to end may take before they are killed; 5 seconds by default.
     *
     * @param grace at least 0
     * @return this
     */
    public Builder grace(Duration grace) {
      if (grace.isNegative()) {
        throw new IllegalArgumentException("grace must be at least 0, got " + grace);
      }
      this.grace = once("grace", this.grace, grace);
      return this;
    }

    /**
     * Finishes the description.
     *
     * @return the launcher
     * @throws IllegalStateException if no main class was given
     */
    public Launcher build() {
      if (mainClass == null) {
        throw new IllegalStateException("mainClass must be set");
      }
      return new Launcher(this, mainClass);
    }

    private static <T> T once(String option, @Nullable T before, T value) {
      if (before != null) {
        throw new IllegalStateException(option + " was already set to " + before);
      }
      return value;
    }
  }
}
