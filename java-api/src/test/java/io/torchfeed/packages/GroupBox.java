// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.packages;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import io.torchfeed.packages.LayeredLayout.Size;
import io.torchfeed.packages.PackageGraph.Group;
import io.torchfeed.packages.PackageGraph.Node;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;

/**
 * The drawing of a group: the box of its only package; or a frame around its exported packages, its
 * hidden packages below them, and the imports among all of them.
 */
final class GroupBox {
  private static final double HEIGHT = 44;
  private static final double PADDING = 14;
  private static final double GAP = 36;

  private record Box(Node node, double left, double top) {
    double width() {
      return GroupBox.width(node);
    }

    double centre() {
      return left + width() / 2;
    }
  }

  private final PackageGraph graph;
  private final boolean framed;
  private final Size size;

  /** Relative to the upper left corner of the group. */
  private final List<Box> boxes = new ArrayList<>();

  GroupBox(Group group, PackageGraph graph) {
    this.graph = graph;
    framed = group.nodes().size() > 1;
    double padding = framed ? PADDING : 0;
    Collection<List<Node>> rows =
        group.nodes().stream().collect(groupingBy(Node::hidden, TreeMap::new, toList())).values();
    double width = rows.stream().mapToDouble(GroupBox::width).max().orElse(0);
    double top = padding;
    for (List<Node> row : rows) {
      double left = padding + (width - width(row)) / 2;
      for (Node node : row) {
        boxes.add(new Box(node, left, top));
        left += width(node) + GAP;
      }
      top += HEIGHT + GAP;
    }
    size = new Size(width + 2 * padding, top - GAP + padding);
  }

  private static double width(List<Node> row) {
    return row.stream().mapToDouble(GroupBox::width).sum() + (row.size() - 1) * GAP;
  }

  private static double width(Node node) {
    return 24 + Math.max(8 * node.shortName().length(), 6 * contents(node).length());
  }

  private static String contents(Node node) {
    String files = count(node.files(), "file");
    return node.hidden() ? files : files + ", " + count(node.publicTypes(), "public type");
  }

  private static String count(long count, String noun) {
    return count + " " + noun + (count == 1 ? "" : "s");
  }

  Size size() {
    return size;
  }

  void draw(Svg svg, double left, double top) {
    if (framed) {
      svg.rectangle("group", left, top, size.width(), size.height());
    }
    for (Box box : boxes) {
      double x = left + box.left();
      double y = top + box.top();
      svg.rectangle(box.node().hidden() ? "hidden" : "exported", x, y, box.width(), HEIGHT);
      svg.text("name", left + box.centre(), y + 19, box.node().shortName());
      svg.text("contents", left + box.centre(), y + 35, contents(box.node()));
    }
    for (Box from : boxes) {
      for (Box to : boxes) {
        if (isDrawnFrom(from, to)) {
          arrow(svg, left, top, from, to);
        }
      }
    }
  }

  /** An import in both directions is drawn once, with two heads. */
  private boolean isDrawnFrom(Box from, Box to) {
    boolean mutual = graph.imports(to.node(), from.node());
    return graph.imports(from.node(), to.node())
        && (!mutual || boxes.indexOf(from) < boxes.indexOf(to));
  }

  private void arrow(Svg svg, double left, double top, Box from, Box to) {
    String style = graph.imports(to.node(), from.node()) ? "arrow mutual" : "arrow";
    double x1 = left + from.centre();
    double x2 = left + to.centre();
    double y = top + from.top() + HEIGHT / 2;
    if (from.top() != to.top()) {
      double outer = from.width() / 2 - 10;
      double start = Math.max(x1 - outer, Math.min(x1 + outer, x2));
      svg.line(style, start, top + from.top() + HEIGHT, x2, top + to.top());
    } else if (from.left() < to.left()) {
      svg.line(style, left + from.left() + from.width(), y, left + to.left(), y);
    } else {
      svg.line(style, left + from.left(), y, left + to.left() + to.width(), y);
    }
  }
}
