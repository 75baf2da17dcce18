// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.launch.ElasticSettings.Place;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Once;
import io.torchfeed.internal.TimeLimit;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The description of a launch, begun by {@link Launcher#builder}. Each option may be set once,
 * except those that add values. Not thread-safe.
 */
public final class LauncherBuilder {
  private static final Duration DEFAULT_GRACE = Duration.ofSeconds(5);

  private @Nullable Integer ranks;
  private final ElasticSettings.Options elastic = new ElasticSettings.Options();
  private @Nullable String mainClass;
  private final List<String> arguments = new ArrayList<>();
  private final List<String> jvmOptions = new ArrayList<>();
  private final Map<String, String> environment = new HashMap<>();
  private @Nullable Boolean prefixRankZero;
  private @Nullable Boolean oversubscribe;
  private @Nullable Duration grace;
  private @Nullable Path logs;
  private RankOutput.@Nullable Shown shown;
  private final Set<String> forwarded = new TreeSet<>();

  LauncherBuilder() {}

  /**
   * Sets the number of ranks, which all complete the job, or none.
   *
   * @param ranks at least 1, and at most four for each processor unless {@link #oversubscribe} is
   *     set
   * @return this
   */
  public LauncherBuilder ranks(int ranks) {
    if (ranks < 1) {
      throw new IllegalArgumentException("ranks must be at least 1, got " + ranks);
    }
    elastic.requireNoRanks();
    this.ranks = Once.set("ranks", this.ranks, ranks);
    return this;
  }

  /**
   * Makes the launch elastic: each process finds its place through {@link
   * io.torchfeed.distributed.membership.Membership#fromEnvironment}.
   *
   * @param min the least number of ranks that train, at least 1; with fewer, they wait for
   *     replacements, and when none can come, the launch fails
   * @param max the greatest number of ranks that train, at least {@code min}; as many processes are
   *     started, unless {@link #processes} says otherwise
   * @return this
   */
  public LauncherBuilder elasticRanks(int min, int max) {
    return elasticRanks(CoordinatorOptions.of(min, max));
  }

  /**
   * Makes the launch elastic, like {@link #elasticRanks(int, int)}, with time limits and a secret.
   *
   * @param options how many ranks there may be, and how long they are waited for; by default, the
   *     secret of the environment, or on one machine a random one. Their job and events count as
   *     set by {@link #job} and {@link #events}
   * @return this
   */
  public LauncherBuilder elasticRanks(CoordinatorOptions options) {
    Once.requireUnset("ranks", ranks);
    elastic.ranks(options);
    return this;
  }

  /**
   * Sets the number of processes of an elastic launch on this machine.
   *
   * @param processes at least 1, and at most four for each processor unless {@link #oversubscribe}
   *     is set; by default the greatest number of ranks
   * @return this
   */
  public LauncherBuilder processes(int processes) {
    elastic.processes(processes);
    return this;
  }

  /**
   * Sets the number of warm spares of an elastic launch on this machine: processes that are started
   * beyond the others, and wait in {@link io.torchfeed.distributed.membership.Membership#next},
   * with their libraries loaded and their data open, until a rank is lost. The process that
   * replaces it becomes a spare.
   *
   * @param spares at least 0, the default
   * @return this
   */
  public LauncherBuilder spares(int spares) {
    elastic.spares(spares);
    return this;
  }

  /**
   * Sets that the launchers of other machines join the elastic job of this one, by {@link
   * #coordinator}, with the same secret. They may join and leave, too: this launch fails if too few
   * ranks are left while {@link #maxRestarts(int)} allows none, or for as long as the coordinator
   * waits.
   *
   * @param host a name or address of this machine that the others can reach
   * @param port of the coordinator, in [1, 65535]
   * @return this
   */
  public LauncherBuilder listen(String host, int port) {
    elastic.place(Place.Kind.HERE, host, port);
    return this;
  }

  /**
   * Sets that this launcher starts processes for the elastic job of the launcher of another
   * machine, where the coordinator is. The launch ends with the job, also if none of its processes
   * has joined it, and fails if the coordinator is lost. When the training is complete, processes
   * that do not learn it have the {@link #grace} period to end, are then asked to, and killed. The
   * coordinator sends its events to this launcher, beginning with the current generation; while the
   * connection between both is interrupted, it gets none.
   *
   * @param host the host of that launcher's {@link #listen}
   * @param port in [1, 65535]
   * @return this
   */
  public LauncherBuilder coordinator(String host, int port) {
    elastic.place(Place.Kind.ELSEWHERE, host, port);
    return this;
  }

  /**
   * Sets the name of an elastic job, the same on all machines; a process of another job is refused.
   *
   * @param job not blank; required with {@link #listen} and {@link #coordinator}, else random
   * @return this
   */
  public LauncherBuilder job(String job) {
    elastic.job(job);
    return this;
  }

  /**
   * Sets how many lost processes of an elastic launch are replaced on this machine within a minute,
   * as {@link #maxRestarts(int, Duration)} describes.
   *
   * @param maxRestarts at least 0, of all processes together; by default three for each process
   * @return this
   */
  public LauncherBuilder maxRestarts(int maxRestarts) {
    elastic.maxRestarts(maxRestarts, null);
    return this;
  }

  /**
   * Sets how many lost processes of an elastic launch are replaced on this machine within an
   * interval. While as many have been replaced, the ranks that are left on all machines continue;
   * if they are too few, the launch fails, but other launchers have half of the interval and at
   * most 30 s to replace theirs. If processes fail more rarely, the job continues.
   *
   * @param maxRestarts at least 0, of all processes together; by default three for each process
   * @param per the length of any interval in which there are at most as many, at least 1 ms; by
   *     default a minute
   * @return this
   */
  public LauncherBuilder maxRestarts(int maxRestarts, Duration per) {
    elastic.maxRestarts(maxRestarts, requireNonNull(per, "per"));
    return this;
  }

  /**
   * Sets a consumer of the changes of an elastic job: a log, for example.
   *
   * @param events called in the thread of {@link Launcher#run}
   * @return this
   */
  public LauncherBuilder events(Consumer<CoordinatorEvent> events) {
    elastic.events(events);
    return this;
  }

  /**
   * Sets the class whose {@code main} each rank runs, as a module if it is in a named one.
   *
   * @param mainClass a class with a {@code main} method
   * @return this
   */
  public LauncherBuilder mainClass(Class<?> mainClass) {
    Module home = requireNonNull(mainClass, "mainClass").getModule();
    String module = home.isNamed() ? home.getName() + '/' : "";
    return mainClass(module + mainClass.getName());
  }

  /**
   * Sets the class whose {@code main} each rank runs.
   *
   * @param mainClass its binary name, or {@code module/class}
   * @return this
   */
  public LauncherBuilder mainClass(String mainClass) {
    this.mainClass = Once.set("mainClass", this.mainClass, requireNonNull(mainClass, "mainClass"));
    return this;
  }

  /**
   * Adds program arguments.
   *
   * @param arguments passed to every rank
   * @return this
   */
  public LauncherBuilder arguments(String... arguments) {
    this.arguments.addAll(
        Checks.copyOf("arguments", Arrays.asList(requireNonNull(arguments, "arguments"))));
    return this;
  }

  /**
   * Adds JVM options; {@code -Dorg.bytedeco.javacpp.maxPhysicalBytes=0} is set before them.
   *
   * @param options passed to every rank, for example {@code -Xmx2g}
   * @return this
   */
  public LauncherBuilder jvmOptions(String... options) {
    jvmOptions.addAll(Checks.copyOf("options", Arrays.asList(requireNonNull(options, "options"))));
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
  public LauncherBuilder environment(String name, String value) {
    environment.put(requireNonNull(name, "name"), requireNonNull(value, "value"));
    return this;
  }

  /**
   * Sets whether the output of rank 0 is prefixed like the others'. By default it is inherited, so
   * that a progress bar still sees the terminal.
   *
   * @param prefixRankZero true to prefix
   * @return this
   */
  public LauncherBuilder prefixRankZero(boolean prefixRankZero) {
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
  public LauncherBuilder oversubscribe(boolean oversubscribe) {
    this.oversubscribe = Once.set("oversubscribe", this.oversubscribe, oversubscribe);
    return this;
  }

  /**
   * Sets how long ranks have to terminate before they are killed; 5 seconds by default.
   *
   * @param grace at least 0
   * @return this
   */
  public LauncherBuilder grace(Duration grace) {
    this.grace = Once.set("grace", this.grace, TimeLimit.notNegative("grace", grace));
    return this;
  }

  /**
   * Sets a folder for logs: one file for each start of a process, {@code rank-1.log} or, in an
   * elastic launch, {@code p1.2.log}, with its standard output and standard error, and {@code
   * launcher.log} with the changes of an elastic job. Files that exist are continued. Rank 0 then
   * does not inherit standard input and output.
   *
   * @param folder created if it does not exist
   * @return this
   */
  public LauncherBuilder logs(Path folder) {
    logs = Once.set("logs", logs, requireNonNull(folder, "folder"));
    return this;
  }

  /**
   * Sets the ranks whose output is shown on the terminal; by default all, and also processes that
   * have no rank yet. In an elastic launch, a process is shown while it has such a rank.
   *
   * @param ranks each at least 0 and one that the launch can have; none to show no output
   * @return this
   */
  public LauncherBuilder shownRanks(int... ranks) {
    Set<Integer> numbers = new TreeSet<>();
    for (int rank : requireNonNull(ranks, "ranks")) {
      if (rank < 0) {
        throw new IllegalArgumentException("a shown rank must be at least 0, got " + rank);
      }
      numbers.add(rank);
    }
    shown = Once.set("shownRanks", shown, new RankOutput.Shown(numbers));
    return this;
  }

  /**
   * Adds signals that each rank gets when the launcher gets them. They end a rank that does not
   * handle them, for example by {@link
   * io.torchfeed.distributed.membership.Membership#leaveOnTermination}.
   *
   * @param signals {@code USR1} or {@code HUP}; the JVM uses the others, or they end a launch
   * @return this
   */
  public LauncherBuilder forwardSignals(String... signals) {
    forwarded.addAll(SignalForwarding.requirePossible(requireNonNull(signals, "signals")));
    return this;
  }

  /**
   * Builds the launcher.
   *
   * @return the launcher
   * @throws IllegalStateException if no main class was set, an option of elastic launches without
   *     {@link #elasticRanks(int, int)}, or a job of several machines without a secret
   * @throws IllegalArgumentException if there are too many or too few processes for this machine
   */
  public Launcher build() {
    if (mainClass == null) {
      throw new IllegalStateException("mainClass must be set");
    }
    LaunchSettings settings =
        new LaunchSettings(
            elastic.processesOr(orElse(ranks, 1)),
            mainClass,
            arguments,
            jvmOptions,
            environment,
            orElse(prefixRankZero, false),
            orElse(oversubscribe, false),
            orElse(grace, DEFAULT_GRACE),
            logs,
            orElse(shown, RankOutput.Shown.ALL),
            List.copyOf(forwarded),
            elastic.settings());
    if (!settings.oversubscribe()) {
      Launcher.requireProcessors(settings.processes(), Runtime.getRuntime().availableProcessors());
    }
    return new Launcher(settings);
  }

  private static <T> T orElse(@Nullable T value, T otherwise) {
    return value == null ? otherwise : value;
  }
}
