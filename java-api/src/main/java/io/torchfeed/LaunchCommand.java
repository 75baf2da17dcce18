// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.distributed.launch.LaunchException;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.JobSecret;
import io.torchfeed.elastic.Generation;
import io.torchfeed.elastic.Generations;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The command {@code launch}, which starts ranks. */
final class LaunchCommand {
  static final String USAGE =
      """
      launch OPTIONS MAIN ARGUMENTS: starts a program on several ranks, each in a JVM like this one
        --ranks N | MIN:MAX     a fixed number of ranks, or an elastic job
        --processes N           processes on this machine, by default MAX
        --spares N              processes on this machine that wait until a rank is lost
        --restarts N/SECONDS    replacements on this machine within an interval, by default 3/60 for
                                each process
        --logs FOLDER           a file for each start of a process
        --show RANK,...         the ranks whose output is shown; none for no output
        --listen HOST:PORT      other machines join this one
        --coordinator HOST:PORT joins the launcher that listens there
        --job NAME              the same on all machines
        --secret-file FILE      with the secret of the job, the same on all machines; by default the
                                file that TORCHFEED_JOB_SECRET_FILE names
        --grace SECONDS         between SIGTERM and SIGKILL, by default 5
        --jvm OPTION            an option of the ranks' JVMs; repeatable
        --env NAME=VALUE        an environment variable of the ranks; repeatable
        --forward USR1,HUP      signals that the ranks get when the launcher gets them
        --oversubscribe         more ranks than processors and memory allow
        --from-generation NAME  runs a generation again, such as 1.3, with as many ranks as it had
        --generations FOLDER    where the program notes its generations; with --from-generation
      exit status: 0 complete; that of the process that failed first; 1 another failure; 2 other
      options""";

  /** The variable in which {@code ElasticRanks} finds the name. */
  private static final String FROM_GENERATION = "TORCHFEED_FROM_GENERATION";

  /** The variables that each rank gets from the launcher. */
  private static final Set<String> PLACE =
      Set.of("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT");

  private static final List<String> HELP = List.of("--help", "-h");
  private static final int FAILED = 1;
  private static final int WRONG_USAGE = 2;
  private static final int INTERRUPTED = 130;

  private final LauncherBuilder builder = Launcher.builder();
  private final Deque<String> rest;
  private @Nullable String fromGeneration;
  private @Nullable Path generations;
  private @Nullable CoordinatorOptions elastic;
  private @Nullable JobSecret secret;

  private LaunchCommand(List<String> args) {
    this.rest = new ArrayDeque<>(args);
  }

  /**
   * Starts the ranks and waits for them.
   *
   * @param args from behind {@code launch} on
   * @param out receives the help
   * @param err receives errors, and the changes of an elastic job
   * @return the exit status
   */
  static int run(List<String> args, PrintStream out, PrintStream err) {
    Launcher launcher;
    try {
      if (isHelp(args)) {
        out.println(USAGE);
        return 0;
      }
      launcher = new LaunchCommand(args).launcher(err);
    } catch (IllegalArgumentException | IllegalStateException e) {
      err.println("error: " + e.getMessage());
      err.println("launch --help lists the options");
      return WRONG_USAGE;
    }
    try {
      launcher.run();
      return 0;
    } catch (LaunchException e) {
      err.println("error: " + e.getMessage());
      return e.exitCode() > 0 ? e.exitCode() : FAILED;
    } catch (RuntimeException e) {
      err.println("error: " + e.getMessage());
      return FAILED;
    } catch (InterruptedException e) {
      return INTERRUPTED;
    }
  }

  /** Returns whether the arguments of a command ask for its help. */
  static boolean isHelp(List<String> args) {
    return !args.isEmpty() && HELP.contains(args.get(0));
  }

  private Launcher launcher(PrintStream err) {
    while (!rest.isEmpty() && rest.getFirst().startsWith("--")) {
      set(rest.removeFirst());
    }
    if (rest.isEmpty()) {
      throw new IllegalArgumentException("the class to run is missing");
    }
    if (fromGeneration != null || generations != null) {
      again();
    }
    if (secret != null) {
      CoordinatorOptions ranks = elastic;
      if (ranks == null) {
        throw new IllegalArgumentException("--secret-file is an option of --ranks MIN:MAX");
      }
      elastic = ranks.withSecret(secret);
    }
    if (elastic != null) {
      builder.elasticRanks(elastic);
      builder.events(event -> err.printf("generation %d: %s%n", event.generation(), event.text()));
    }
    builder.mainClass(rest.removeFirst());
    return builder.arguments(rest.toArray(new String[0])).build();
  }

  private void again() {
    if (fromGeneration == null || generations == null) {
      throw new IllegalArgumentException("--from-generation and --generations belong together");
    }
    try (Generations all = Generations.open(generations, 1)) {
      Generation found = all.find(fromGeneration);
      elastic(CoordinatorOptions.of(found.ranks(), found.ranks()));
      builder.environment(FROM_GENERATION, found.name());
    } catch (UncheckedIOException e) {
      throw new IllegalArgumentException("--generations cannot be read: " + e.getMessage(), e);
    }
  }

  private void set(String option) {
    switch (option) {
      case "--from-generation" -> fromGeneration = value(option);
      case "--generations" -> generations = Path.of(value(option));
      case "--ranks" -> ranks(value(option));
      case "--processes" -> builder.processes(number(option, value(option)));
      case "--spares" -> builder.spares(number(option, value(option)));
      case "--restarts" -> {
        String[] parts = parts(option, value(option), "/", "N/SECONDS");
        builder.maxRestarts(number(option, parts[0]), seconds(option, parts[1]));
      }
      case "--logs" -> builder.logs(Path.of(value(option)));
      case "--show" -> builder.shownRanks(shown(option, value(option)));
      case "--listen" -> {
        String[] parts = parts(option, value(option), ":", "HOST:PORT");
        builder.listen(parts[0], number(option, parts[1]));
      }
      case "--coordinator" -> {
        String[] parts = parts(option, value(option), ":", "HOST:PORT");
        builder.coordinator(parts[0], number(option, parts[1]));
      }
      case "--job" -> builder.job(value(option));
      case "--secret-file" -> secret = JobSecret.read(Path.of(value(option)));
      case "--grace" -> builder.grace(seconds(option, value(option)));
      case "--jvm" -> builder.jvmOptions(value(option));
      case "--env" -> {
        String[] parts = parts(option, value(option), "=", "NAME=VALUE");
        if (PLACE.contains(parts[0])) {
          throw new IllegalArgumentException(
              "--env must not set %s, which the launcher sets, got '%s'"
                  .formatted(parts[0], parts[1]));
        }
        builder.environment(parts[0], parts[1]);
      }
      case "--forward" -> builder.forwardSignals(value(option).split(",", -1));
      case "--oversubscribe" -> builder.oversubscribe(true);
      default -> throw new IllegalArgumentException("unknown option " + option);
    }
  }

  private String value(String option) {
    if (rest.isEmpty()) {
      throw new IllegalArgumentException(option + " needs a value");
    }
    return rest.removeFirst();
  }

  private void ranks(String value) {
    if (value.contains(":")) {
      String[] parts = parts("--ranks", value, ":", "MIN:MAX");
      elastic(CoordinatorOptions.of(number("--ranks", parts[0]), number("--ranks", parts[1])));
    } else {
      builder.ranks(number("--ranks", value));
    }
  }

  private void elastic(CoordinatorOptions options) {
    if (elastic != null) {
      throw new IllegalArgumentException("ranks was already set to " + elastic);
    }
    elastic = options;
  }

  /** Cuts a value at the last separator, but a variable at the first. */
  private static String[] parts(String option, String value, String separator, String form) {
    int at = separator.equals("=") ? value.indexOf(separator) : value.lastIndexOf(separator);
    if (at < 1) {
      throw new IllegalArgumentException("%s must be %s, got '%s'".formatted(option, form, value));
    }
    return new String[] {value.substring(0, at), value.substring(at + 1)};
  }

  private static int[] shown(String option, String value) {
    return value.equals("none")
        ? new int[0]
        : Arrays.stream(value.split(",", -1)).mapToInt(rank -> number(option, rank)).toArray();
  }

  private static int number(String option, String value) {
    try {
      return Integer.parseInt(value.strip());
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "%s must have a whole number, got '%s'".formatted(option, value), e);
    }
  }

  private static Duration seconds(String option, String value) {
    try {
      double seconds = Double.parseDouble(value);
      if (seconds >= 0 && seconds <= Integer.MAX_VALUE) {
        return Duration.ofMillis(Math.round(seconds * 1000));
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(secondsMessage(option, value), e);
    }
    throw new IllegalArgumentException(secondsMessage(option, value));
  }

  private static String secondsMessage(String option, String value) {
    return "%s must have a number of seconds, got '%s'".formatted(option, value);
  }
}
