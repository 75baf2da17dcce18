// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import io.torchfeed.elastic.Generation;
import io.torchfeed.elastic.Generations;
import io.torchfeed.report.RunNotes.Note;
import java.nio.file.Path;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;

/** The changes of a run's ranks: its generations, and the processes that were its ranks. */
final class WorldTable {
  private final List<Generation> generations = new ArrayList<>();
  private final List<Note> notes;

  /**
   * Reads the changes.
   *
   * @param folders that have generations
   * @param notes of all ranks
   */
  WorldTable(List<Path> folders, List<Note> notes) {
    this.notes = notes;
    for (Path folder : folders) {
      try (Generations noted = Generations.open(folder, 1)) {
        generations.addAll(noted.all());
      }
    }
  }

  /** Returns the steps after which the ranks were others than before. */
  SortedSet<Long> steps() {
    SortedSet<Long> steps = new TreeSet<>();
    if (!generations.isEmpty()) {
      generations.stream().skip(1).forEach(each -> steps.add(each.step()));
      return steps;
    }
    String before = "";
    for (Note note : notes) {
      if (note.isBegin() && note.text("rank").equals("0")) {
        String now = note.text("ranks");
        if (!before.isEmpty() && !before.equals(now)) {
          steps.add(note.number("step"));
        }
        before = now;
      }
    }
    return steps;
  }

  void addTo(Html out) {
    if (generations.isEmpty() && notes.isEmpty()) {
      return;
    }
    out.element("h2", "Changes of the ranks");
    out.element(
        "p",
        steps().isEmpty()
            ? "The ranks stayed the same."
            : "Ranks came or went after %s steps; dashed lines in the curves show it."
                .formatted(String.join(", ", steps().stream().map(Numbers::count).toList())));
    if (!generations.isEmpty()) {
      generations(out);
    }
    if (!notes.isEmpty()) {
      processes(out);
    }
  }

  private void generations(Html out) {
    out.open("div", "class", "wide").open("table").open("tr");
    for (String head :
        List.of("generation", "after steps", "ranks", "epoch", "state from", "began")) {
      out.element("th", head);
    }
    out.close("tr");
    for (Generation each : generations) {
      out.open("tr")
          .element("td", each.name())
          .element("td", Numbers.count(each.step()))
          .element("td", Integer.toString(each.ranks()))
          .element("td", Long.toString(each.epoch() + 1))
          .element("td", each.origin().name().toLowerCase(Locale.ROOT).replace('_', ' '))
          .element("td", each.began().truncatedTo(ChronoUnit.SECONDS).toString())
          .close("tr");
    }
    out.close("table").close("div");
  }

  /** Adds a row for each time that a process was a rank. */
  private void processes(Html out) {
    out.open("details", "open", "open").element("summary", "processes");
    out.open("div", "class", "wide").open("table").open("tr");
    for (String head : List.of("rank", "of", "process", "host", "first step", "began", "ended")) {
      out.element("th", head);
    }
    out.close("tr");
    for (int i = 0; i < notes.size(); i++) {
      Note note = notes.get(i);
      if (note.isBegin()) {
        out.open("tr")
            .element("td", note.text("rank"))
            .element("td", note.text("ranks"))
            .element("td", note.text("process"))
            .element("td", note.text("host"))
            .element("td", note.text("step"))
            .element("td", note.text("time"))
            .element("td", endOf(i))
            .close("tr");
      }
    }
    out.close("table").close("div").close("details");
  }

  private String endOf(int place) {
    boolean isNext = place + 1 < notes.size();
    if (isNext && !notes.get(place + 1).isBegin()) {
      Note end = notes.get(place + 1);
      return "after %s steps, %s".formatted(end.text("step"), end.text("time"));
    }
    return "without a word: killed, or still at work";
  }
}
