// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.packages;

import static io.torchfeed.packages.Svg.pixel;
import static java.util.stream.Collectors.toSet;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.torchfeed.packages.LayeredLayout.Size;
import io.torchfeed.packages.LayeredLayout.Slot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** The picture of the import graph in the contributing notes. */
final class PackagePicture {
  /** Relative to java-api, where tests and the script package-graph run. */
  static final Path FILE = Path.of("..", ".github", "packages.svg");

  private static final Path MODULE = Path.of("src", "main", "java", "module-info.java");
  private static final Pattern EXPORTED = Pattern.compile("(?<=exports )[\\w.]+(?=;)");

  private static final double MARGIN = 20;
  private static final double PORT_GAP = 18;
  private static final double LEGEND_HEIGHT = 64;

  private final NavigableMap<String, GroupBox> boxes = new TreeMap<>();
  private final LayeredLayout layout;
  private final Svg svg = new Svg();

  private PackagePicture(PackageGraph graph) {
    NavigableMap<String, Size> sizes = new TreeMap<>();
    graph.groups().forEach(group -> boxes.put(group.name(), new GroupBox(group, graph)));
    boxes.forEach((name, box) -> sizes.put(name, box.size()));
    layout = new LayeredLayout(sizes, graph.arrowsBetweenGroups());
  }

  /** Returns the picture of the packages of io.torchfeed on the class path, as SVG. */
  static String draw() throws IOException {
    Set<String> exported =
        EXPORTED
            .matcher(Files.readString(MODULE))
            .results()
            .map(MatchResult::group)
            .collect(toSet());
    return new PackagePicture(
            new PackageGraph(
                new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("io.torchfeed"),
                exported))
        .svg();
  }

  /** Writes the picture. */
  public static void main(String[] arguments) throws IOException {
    Files.writeString(FILE, draw());
  }

  private String svg() {
    layout.routes().forEach(this::arrow);
    boxes.forEach(
        (name, box) -> {
          Slot slot = layout.box(name);
          box.draw(svg, MARGIN + slot.x - slot.width / 2, MARGIN + slot.boxTop());
        });
    legend(MARGIN + layout.height() + 24);
    return svg.finish(layout.width() + 2 * MARGIN, layout.height() + MARGIN + LEGEND_HEIGHT);
  }

  /** Draws an arrow: upright within a layer, curved between two layers. */
  private void arrow(List<Slot> route) {
    Slot first = route.get(0);
    Slot last = route.get(route.size() - 1);
    StringBuilder path = new StringBuilder();
    path.append(
        "M%d %d".formatted(x(port(first, first.below, route.get(1))), y(first.boxBottom())));
    for (int i = 1; i < route.size(); i++) {
      Slot from = route.get(i - 1);
      Slot to = route.get(i);
      long x1 = x(port(from, from.below, to));
      long x2 = x(port(to, to.above, from));
      long middle = y((from.bottom + to.top) / 2);
      path.append(" V%d C%d %d %d %d".formatted(y(from.bottom), x1, middle, x2, middle));
      path.append(" %d %d".formatted(x2, y(to.top)));
    }
    path.append(" V%d".formatted(y(last.boxTop())));
    svg.path("arrow", path.toString());
  }

  /** Returns where the arrow between a slot and one of its neighbours above or below meets it. */
  private static double port(Slot slot, List<Slot> neighbours, Slot neighbour) {
    long left = neighbours.stream().filter(other -> other.x < neighbour.x).count();
    return slot.x + (left - (neighbours.size() - 1) / 2.0) * PORT_GAP;
  }

  private static long x(double x) {
    return pixel(MARGIN + x);
  }

  private static long y(double y) {
    return pixel(MARGIN + y);
  }

  private void legend(double y) {
    svg.rectangle("exported", MARGIN, y, 28, 16);
    svg.text("note", MARGIN + 36, y + 12, "exported");
    svg.rectangle("hidden", MARGIN + 110, y, 28, 16);
    svg.text("note", MARGIN + 146, y + 12, "hidden");
    svg.rectangle("group", MARGIN + 210, y, 28, 16);
    svg.text("note", MARGIN + 246, y + 12, "packages that import each other");
    svg.line("arrow", MARGIN + 470, y + 8, MARGIN + 498, y + 8);
    svg.text("note", MARGIN + 506, y + 12, "imports (not drawn if a longer path leads there)");
  }
}
