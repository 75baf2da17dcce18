// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.ring.Kind;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** The findings about a run: who waited for whom, and which ranks have not entered a call. */
public final class TraceReport {
  private static final double SECOND = 1e9;
  private static final int MAX_RANKS = 8;
  private static final int MAX_STEPS = 5;

  private final Dumps dumps;
  private final Clocks clocks;
  private final Waits waits;

  private TraceReport(Dumps dumps) {
    this.dumps = dumps;
    clocks = new Clocks(dumps);
    waits = new Waits(dumps, clocks);
  }

  /**
   * The time for which others waited for a rank.
   *
   * @param place its host and process
   * @param seconds the sum over the others
   * @param share of the waits for all ranks
   * @param steps the steps in which they waited for it most
   * @param longest seconds from the first rank's arrival to this one's
   * @param longestCall the call of that
   * @param longestStep the step of that, or -1
   */
  public record Charge(
      int rank,
      String place,
      double seconds,
      double share,
      long steps,
      double longest,
      String longestCall,
      long longestStep) {}

  /**
   * Reads the dumps of a folder.
   *
   * @throws DumpException if one cannot be used, there is none, or they are of several runs
   */
  public static TraceReport of(Path folder) {
    return new TraceReport(Dumps.open(folder));
  }

  /** Returns whether a file has the name of a dump. */
  public static boolean isDump(Path file) {
    return Dumps.isDump(file);
  }

  /** Returns a sentence about the merged dumps. */
  public String summary() {
    int unknown = clocks.unknown().size();
    return String.format(
        Locale.ROOT,
        "Processes: %d, hosts: %d; %s; ranks waited %.3f s for others in %d calls.",
        dumps.all().size(),
        hosts(),
        aligned() + (unknown > 0 ? ", but for %d processes".formatted(unknown) : ""),
        waits.total() / SECOND,
        waits.calls());
  }

  /** Returns for which ranks the others waited, longest first. */
  public List<Charge> charges() {
    return waits.accounts().stream()
        .map(
            each ->
                new Charge(
                    each.member().rank(),
                    dumps.all().get(each.member().dump()).place(),
                    each.charged() / SECOND,
                    each.charged() / (double) Math.max(1, waits.total()),
                    each.steps(),
                    each.longest() / SECOND,
                    each.longestCall(),
                    each.longestStep()))
        .toList();
  }

  /** Returns the calls that some ranks have not entered, each in lines. */
  public List<List<String>> findings() {
    return new Absences(dumps, clocks).find().stream().map(Absences.Finding::lines).toList();
  }

  /**
   * Returns the slowest steps, slowest first.
   *
   * @param most how many at most
   */
  public List<StepTimeline> slowestSteps(int most) {
    return new Timelines(dumps, clocks).slowest(most);
  }

  /** Writes the timeline of all ranks for Perfetto. */
  public void writePerfetto(Path file) {
    PerfettoFile.write(file, dumps, clocks);
  }

  /**
   * Writes the calls of each rank as PyTorch's flight recorder does.
   *
   * @return the number of files
   */
  public int writeFlightRecorder(Path folder) {
    return TorchRecorder.write(folder, dumps, clocks);
  }

  /** Prints the findings. */
  public void print(PrintStream out) {
    printDumps(out);
    printWaits(out);
    printData(out);
    for (List<String> finding : findings()) {
      line(out, "");
      line(out, finding.get(0));
      finding.stream().skip(1).forEach(each -> line(out, "  " + each));
    }
  }

  private static void line(PrintStream out, String format, Object... values) {
    out.println(values.length == 0 ? format : String.format(Locale.ROOT, format, values));
  }

  private long hosts() {
    return dumps.all().stream().map(Dump::host).distinct().count();
  }

  private String aligned() {
    return clocks.uncertainty() == 0
        ? "all ranks have one clock"
        : String.format(
            Locale.ROOT, "clocks are aligned within %.0f us", clocks.uncertainty() / 1e3);
  }

  private void printDumps(PrintStream out) {
    line(out, "processes: %d, hosts: %d", dumps.all().size(), hosts());
    line(out, aligned());
    clocks
        .unknown()
        .forEach(
            dump ->
                line(
                    out,
                    "the clock of rank %d (%s) is not aligned: no call connects it",
                    dump.rank(),
                    dump.place()));
    for (Dump dump : dumps.all()) {
      if (dump.forgotten() > 0) {
        line(
            out,
            "rank %d has forgotten its first %d events; TORCHFEED_TRACE_EVENTS keeps more",
            dump.rank(),
            dump.forgotten());
      }
    }
  }

  private void printWaits(PrintStream out) {
    if (waits.calls() == 0) {
      line(out, "no call of all ranks was completed on all of them");
      return;
    }
    line(out, "");
    line(
        out,
        "waits for other ranks: %.3f s in %d calls, the sum over all ranks",
        waits.total() / SECOND,
        waits.calls());
    line(
        out,
        "%6s  %-28s %14s %7s %17s  %s",
        "rank",
        "host/process",
        "waited for [s]",
        "share",
        "slowest in steps",
        "longest delay");
    waits.accounts().stream().limit(MAX_RANKS).forEach(each -> printAccount(out, each));
    List<Waits.SlowStep> slow = waits.slowest(MAX_STEPS);
    if (!slow.isEmpty()) {
      line(out, "");
      line(out, "%10s %13s %12s", "step", "slowest rank", "waited [s]");
      slow.forEach(
          each ->
              line(
                  out,
                  "%10d %13d %12.3f",
                  each.step(),
                  each.member().rank(),
                  each.nanos() / SECOND));
    }
  }

  private void printAccount(PrintStream out, Waits.Account each) {
    String step = each.longestStep() < 0 ? "" : " in step " + each.longestStep();
    line(
        out,
        "%6d  %-28s %14.3f %5.1f %% %17s  %.3f s before %s%s",
        each.member().rank(),
        dumps.all().get(each.member().dump()).place(),
        each.charged() / SECOND,
        100.0 * each.charged() / Math.max(1, waits.total()),
        "%d of %d".formatted(each.steps(), waits.steps()),
        each.longest() / SECOND,
        each.longestCall(),
        step);
  }

  /** Prints the times of the phases of each rank, if there are any. */
  private void printData(PrintStream out) {
    boolean hasSteps =
        dumps.totals().stream()
            .anyMatch(each -> each.count(Kind.STEP) + each.count(Kind.BATCH_WAIT) > 0);
    if (!hasSteps) {
      return;
    }
    line(out, "");
    line(
        out,
        "%6s %9s %12s %12s %12s %12s %12s",
        "rank",
        "steps",
        "all [s]",
        "data [s]",
        "forward [s]",
        "backward [s]",
        "update [s]");
    for (int i = 0; i < Math.min(MAX_RANKS, dumps.all().size()); i++) {
      Dumps.Totals totals = dumps.totals().get(i);
      line(
          out,
          "%6d %9d %12.3f %12.3f %12.3f %12.3f %12.3f",
          dumps.all().get(i).rank(),
          totals.count(Kind.STEP),
          totals.nanos(Kind.STEP) / SECOND,
          totals.nanos(Kind.BATCH_WAIT) / SECOND,
          totals.nanos(Kind.FORWARD) / SECOND,
          totals.nanos(Kind.BACKWARD) / SECOND,
          totals.nanos(Kind.UPDATE) / SECOND);
    }
    if (dumps.all().size() > MAX_RANKS) {
      line(out, "and %d more ranks", dumps.all().size() - MAX_RANKS);
    }
  }
}
