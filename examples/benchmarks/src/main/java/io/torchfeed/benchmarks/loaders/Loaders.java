// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.benchmarks.loaders.PeerProcess.MissingException;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The program that the script {@code loaders} starts. */
@Command(
    name = "loaders",
    description = {
      "Compares torchfeed's loader with the limits set by memory and with other loaders, in turns:",
      "A  MNIST as floats, B  large images in memory, C  a conversion per sample, D  a file."
    })
final class Loaders implements Callable<Integer> {
  private static final int ROUNDS = 9;
  private static final int SHORT_ROUNDS = 2;
  private static final int MILLISECONDS = 300;
  private static final int SHORT_MILLISECONDS = 30;
  private static final int WARM_UPS = 3;

  @Option(
      names = "--rows",
      split = ",",
      defaultValue = "A,B,C,D",
      description = "rows to run (default: ${DEFAULT-VALUE})")
  private List<Row> rows = List.of();

  @Option(names = "--rounds", description = "number of turns (default: 9, with --short 2)")
  private @Nullable Integer rounds;

  @Option(names = "--short", description = "a smoke run: the ratios mean little")
  private boolean quick;

  @Option(
      names = "--out",
      description = "folder of loaders.json, .svg and .md (default: ${DEFAULT-VALUE})")
  private Path out = Path.of("results");

  @Option(names = "--mnist", required = true, hidden = true)
  private Path mnist = Path.of("");

  @Option(names = "--work", required = true, hidden = true)
  private Path work = Path.of("");

  @Option(names = "--cpp", hidden = true)
  private @Nullable String cpp;

  @Option(names = "--python", hidden = true)
  private @Nullable String python;

  @Option(names = "--djl", hidden = true)
  private @Nullable String djl;

  private Loaders() {}

  /**
   * Runs the contest.
   *
   * @param args see {@code --help}
   */
  public static void main(String[] args) {
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    return Commands.of(new Loaders());
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    int turns = rounds != null ? rounds : quick ? SHORT_ROUNDS : ROUNDS;
    if (turns < 1) {
      throw CommandException.wrongUse("--rounds must be at least 1, got " + turns);
    }
    int milliseconds = quick ? SHORT_MILLISECONDS : MILLISECONDS;
    Files.createDirectories(work);
    try {
      Files.createDirectories(out);
    } catch (IOException e) {
      throw CommandException.wrongUse(
          "--out must be a folder that can be created, got " + out + ": " + e);
    }
    Programs programs = new Programs(mnist, work, work, peers());
    List<Results> all = new ArrayList<>();
    List<StepTime> steps = new ArrayList<>();
    List<Bar> bars = new ArrayList<>();
    List<Double> load = new ArrayList<>();
    for (Row row : rows) {
      load.add(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
      try (Contest contest =
          new Contest(row, programs, milliseconds, quick ? 0 : WARM_UPS, Loaders::note)) {
        Results results = contest.run(turns);
        all.add(results);
        bars.addAll(Bar.of(results));
        System.out.print(ResultTable.of(results));
      }
      for (StepTime step : steps(row, programs, turns, milliseconds)) {
        steps.add(step);
        bars.add(step.bar());
      }
    }
    if (all.stream().allMatch(each -> each.entries().isEmpty())) {
      note("no loader of any row could be measured, so nothing is written");
      return 1;
    }
    load.add(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    System.out.print(ResultTable.of(bars));
    System.out.println("\nload of the machine before each row and at the end: " + load);
    ResultJson.write(
        out.resolve("loaders.json"), command(turns), machine(), load, all, steps, bars);
    ResultMarkdown.write(all, out.resolve("loaders.md"));
    System.out.println("written: loaders.json and loaders.md in " + out);
    return 0;
  }

  private static List<StepTime> steps(Row row, Programs programs, int rounds, int milliseconds)
      throws IOException, InterruptedException {
    if (row == Row.D) {
      return List.of();
    }
    Entry entry =
        row == Row.C
            ? new Entry(Entry.JAVA, "java", "java", Setting.ONE_WORKER, Entry.Kind.OURS)
            : new Entry(Entry.NATIVE, "native", "native", Setting.ONE_WORKER, Entry.Kind.OURS);
    note("row " + row + ": measuring a consumer that computes");
    try {
      programs.prepare(row);
      return StepTime.of(entry, row, programs, rounds, milliseconds);
    } catch (MissingException e) {
      note("left out: " + e.why());
      return List.of();
    }
  }

  private Map<String, List<String>> peers() {
    Map<String, List<String>> peers = new LinkedHashMap<>();
    Map<String, @Nullable String> given = new LinkedHashMap<>();
    given.put("cpp", cpp);
    given.put("python", python);
    given.put("djl", djl);
    given.forEach(
        (program, command) -> {
          if (command != null && !command.isEmpty()) {
            peers.put(program, List.of(command.split("\\|", -1)));
          }
        });
    return peers;
  }

  private String command(int turns) {
    String names = String.join(",", rows.stream().map(Row::name).toList());
    return "examples/benchmarks/loaders --rows "
        + names
        + " --rounds "
        + turns
        + (quick ? " --short" : "");
  }

  private static String machine() throws IOException {
    Path cpu = Path.of("/proc/cpuinfo");
    String model =
        Files.isReadable(cpu)
            ? Files.readAllLines(cpu).stream()
                .filter(line -> line.startsWith("model name"))
                .findFirst()
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .orElse("unknown")
            : "unknown";
    return "%s, %d cores, %s %s, JDK %s"
        .formatted(
            model,
            Runtime.getRuntime().availableProcessors(),
            System.getProperty("os.name"),
            System.getProperty("os.arch"),
            System.getProperty("java.version"));
  }

  private static void note(String line) {
    System.err.println("loaders: " + line);
  }
}
