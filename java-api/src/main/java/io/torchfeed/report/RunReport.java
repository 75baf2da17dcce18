// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import static java.util.Objects.requireNonNull;

import io.torchfeed.report.RunNotes.Note;
import io.torchfeed.report.ShareBars.Bar;
import io.torchfeed.report.SlowSteps.Slow;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The page of a run. */
public final class RunReport {
  private static final String RATE = "train/samples per second";
  private static final String WAIT = "train/wait share";
  private static final String REDUCTION = "train/reduction wait share";

  private final RunFiles files;
  private final Map<String, Map<Integer, ScalarFile>> runs = new TreeMap<>();
  private final Map<String, List<Curve>> tables = new TreeMap<>();
  private final List<Note> notes = new ArrayList<>();
  private final List<TraceSection> traces = new ArrayList<>();
  private final WorldTable world;
  private int unread;

  private RunReport(RunFiles files) throws IOException {
    this.files = files;
    for (var run : files.scalars().entrySet()) {
      Map<Integer, ScalarFile> ofRanks = new TreeMap<>();
      for (var rank : run.getValue().entrySet()) {
        ScalarFile read = ScalarFile.read(rank.getValue());
        ofRanks.put(rank.getKey(), read);
        unread += read.unread();
      }
      runs.put(run.getKey(), ofRanks);
    }
    for (Path file : files.named("metrics.csv")) {
      tables.put(files.root().relativize(file).toString(), TableFile.read(file));
    }
    for (Path file : files.named("run.jsonl")) {
      notes.addAll(RunNotes.read(file));
    }
    for (Path folder : files.withTraces()) {
      traces.add(new TraceSection(files.root().relativize(folder).toString(), folder));
    }
    world = new WorldTable(files.withGenerations(), notes);
  }

  /**
   * Reads the files of a run.
   *
   * @param folder of the run
   * @return the report
   * @throws IOException if they cannot be read
   * @throws IllegalArgumentException if there are none
   */
  public static RunReport read(Path folder) throws IOException {
    RunReport report = new RunReport(RunFiles.find(requireNonNull(folder, "folder")));
    if (report.runs.isEmpty()
        && report.tables.isEmpty()
        && report.traces.isEmpty()
        && report.files.withGenerations().isEmpty()) {
      throw new IllegalArgumentException(
          folder + " has no scalars.csv, metrics.csv, trace or generation of a run");
    }
    return report;
  }

  /**
   * Returns the page.
   *
   * @return HTML, with all that it needs
   */
  public String html() {
    Html out = new Html();
    String name = String.valueOf(files.root().toAbsolutePath().normalize().getFileName());
    out.constant("<!DOCTYPE html>\n").open("html", "lang", "en").open("head");
    out.constant("<meta charset=\"utf-8\"/>\n")
        .constant("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n")
        .constant("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';")
        .constant(" style-src 'unsafe-inline'\"/>\n");
    out.element("title", "Run " + name).open("style").constant(Style.CSS).close("style");
    out.close("head").open("body").open("main").element("h1", "Run " + name);
    tiles(out);
    SortedSet<Long> changes = world.steps();
    for (var run : runs.entrySet()) {
      String title = run.getKey().isEmpty() ? "" : " of " + run.getKey();
      curves(out, title, run.getValue(), changes);
    }
    for (var table : tables.entrySet()) {
      out.element("h2", "Epochs, from " + table.getKey()).open("div", "class", "charts");
      table.getValue().forEach(curve -> new LineChart(curve, "epoch", List.of()).addTo(out));
      out.close("div");
    }
    world.addTo(out);
    traces.forEach(each -> each.addTo(out));
    machines(out);
    sources(out);
    return out.close("main").close("body").close("html").toString();
  }

  private void tiles(Html out) {
    Map<String, String> tiles = new LinkedHashMap<>();
    Map<String, Curve> first =
        runs.isEmpty() ? Map.of() : curvesOf(runs.values().iterator().next().get(0));
    long steps = first.values().stream().mapToLong(each -> last(each)).max().orElse(0);
    tiles.put("steps", steps == 0 ? "unknown" : Numbers.count(steps));
    add(tiles, "last loss", first.get("train/loss"), false);
    add(tiles, "last evaluation, loss", first.get("evaluation/loss"), false);
    add(tiles, "last evaluation, score", first.get("evaluation/score"), false);
    add(tiles, "samples per second, mean", first.get(RATE), true);
    add(tiles, "waiting for data, mean", first.get(WAIT), true);
    add(tiles, "waiting for ranks, mean", first.get(REDUCTION), true);
    add(tiles, "bytes sent per step", first.get("train/bytes per step"), false);
    tiles.put("changes of the ranks", Integer.toString(world.steps().size()));
    out.open("div", "class", "tiles");
    tiles.forEach(
        (label, value) ->
            out.open("div", "class", "tile")
                .element("b", value)
                .element("span", label)
                .close("div"));
    out.close("div");
  }

  private static long last(Curve curve) {
    return curve.size() == 0 ? 0 : curve.steps()[curve.size() - 1];
  }

  private static Map<String, Curve> curvesOf(@Nullable ScalarFile file) {
    return file == null ? Map.of() : file.curves();
  }

  private static void add(
      Map<String, String> tiles, String label, @Nullable Curve curve, boolean isMean) {
    if (curve != null && curve.size() > 0) {
      tiles.put(label, curve.text(isMean ? curve.mean() : curve.last()));
    }
  }

  private static void curves(
      Html out, String title, Map<Integer, ScalarFile> ranks, SortedSet<Long> changes) {
    Map<String, Curve> first = curvesOf(ranks.get(0));
    out.element("h2", "Curves over steps" + title).open("div", "class", "charts");
    for (Curve curve : first.values()) {
      if (curve.size() > 0) {
        new LineChart(curve, "step", changes).addTo(out);
      }
    }
    out.close("div");
    balance(out, title, ranks);
    slowest(out, title, SlowSteps.ofCurves(first));
  }

  private static void balance(Html out, String title, Map<Integer, ScalarFile> ranks) {
    List<Bar> bars = new ArrayList<>();
    ranks.forEach(
        (rank, file) -> {
          Curve seconds = file.curves().get("train/seconds per step");
          if (seconds != null && seconds.size() > 0) {
            bars.add(
                new Bar(
                    "rank " + rank,
                    Numbers.seconds(seconds.mean()),
                    seconds.mean(),
                    mean(file.curves().get(WAIT)),
                    mean(file.curves().get(REDUCTION))));
          }
        });
    if (bars.size() > 1) {
      out.element("h2", "Balance of the ranks" + title);
      out.element(
          "p", "A rank that waits less than the others for ranks is one that they wait for.");
      ShareBars.addTo(out, "Mean time of a step on each rank", scaled(bars));
    }
  }

  private static double mean(@Nullable Curve curve) {
    return curve == null || curve.size() == 0 ? 0 : Math.max(0, Math.min(1, curve.mean()));
  }

  private static List<Bar> scaled(List<Bar> bars) {
    double most = bars.stream().mapToDouble(Bar::length).max().orElse(1);
    return bars.stream()
        .map(
            each ->
                new Bar(
                    each.label(),
                    each.value(),
                    most > 0 ? each.length() / most : 0,
                    each.dataShare(),
                    each.ranksShare()))
        .toList();
  }

  private static void slowest(Html out, String title, SlowSteps steps) {
    List<Bar> bars = new ArrayList<>();
    for (Slow each : steps.slowest()) {
      bars.add(
          new Bar(
              each.label(),
              Numbers.seconds(each.seconds()),
              each.seconds(),
              each.dataShare(),
              each.ranksShare()));
    }
    if (!bars.isEmpty()) {
      out.element("h2", "Slowest steps" + title);
      ShareBars.addTo(out, "Time of a step, mean of the steps of a point", scaled(bars));
    }
  }

  private void machines(Html out) {
    Map<String, Note> ofHosts = new TreeMap<>();
    notes.stream().filter(Note::isBegin).forEach(note -> ofHosts.put(note.text("host"), note));
    if (ofHosts.isEmpty()) {
      return;
    }
    List<String> fields = List.of("host", "system", "processors", "java", "torchfeed", "libtorch");
    out.element("h2", "Machines and versions").open("div", "class", "wide").open("table");
    out.open("tr");
    fields.forEach(field -> out.element("th", field));
    out.close("tr");
    for (Note note : ofHosts.values()) {
      out.open("tr");
      fields.forEach(field -> out.element("td", note.text(field)));
      out.close("tr");
    }
    out.close("table").close("div");
    loaders(out);
  }

  private void loaders(Html out) {
    List<Note> ends =
        notes.stream().filter(note -> !note.isBegin() && !note.text("loader").isEmpty()).toList();
    if (ends.isEmpty()) {
      return;
    }
    out.element("h2", "Loaders at their end").open("div", "class", "wide").open("table");
    out.open("tr").element("th", "rank").element("th", "statistics").close("tr");
    for (Note note : ends) {
      out.open("tr")
          .element("td", note.text("rank"))
          .element("td", note.text("loader"))
          .close("tr");
    }
    out.close("table").close("div");
  }

  private void sources(Html out) {
    long events =
        files.all().stream()
            .filter(path -> String.valueOf(path.getFileName()).startsWith("events.out.tfevents."))
            .count();
    String text =
        "Read from %d tables of scalars, %d tables of epochs and %d notes of ranks; TensorBoard reads"
                .formatted(
                    runs.values().stream().mapToInt(Map::size).sum(), tables.size(), notes.size())
            + " the %d event files.".formatted(events);
    out.element("h2", "Sources").element("p", text);
    if (unread > 0) {
      out.element("p", "%d rows of scalars are incomplete and left out.".formatted(unread));
    }
  }
}
