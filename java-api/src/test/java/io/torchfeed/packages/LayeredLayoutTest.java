// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.packages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.packages.LayeredLayout.Size;
import io.torchfeed.packages.LayeredLayout.Slot;
import io.torchfeed.packages.PackageGraph.Arrow;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LayeredLayoutTest {
  private static final Size SIZE = new Size(100, 40);

  @Test
  void everyBoxIsBelowAllThatPointToIt() {
    LayeredLayout layout = layout("a>b", "b>c", "a>c", "a>d");
    for (List<Slot> route : layout.routes()) {
      for (int i = 1; i < route.size(); i++) {
        assertThat(route.get(i).top).isGreaterThan(route.get(i - 1).bottom);
      }
    }
  }

  @Test
  void anArrowThatPassesALayerMeetsNoBoxThere() {
    LayeredLayout layout = layout("a>b", "b>c", "a>c");
    Slot passing = layout.routes().get(2).get(1);
    Slot box = layout.box("b");
    assertThat(passing.top).isEqualTo(box.top);
    assertThat(Math.abs(passing.x - box.x)).isGreaterThan(box.width / 2);
  }

  @Test
  void arrowsThatNeedNotCrossDoNot() {
    LayeredLayout layout = layout("a>z", "b>y", "c>x");
    List<String> upper = fromTheLeft(layout, "a", "b", "c");
    List<String> lower = fromTheLeft(layout, "z", "y", "x");
    Map<String, String> targets = Map.of("a", "z", "b", "y", "c", "x");
    assertThat(upper.stream().map(targets::get).toList()).isEqualTo(lower);
  }

  @Test
  void boxesOfALayerDoNotOverlapAndBeginAtTheLeftEdge() {
    LayeredLayout layout = layout("a>d", "b>d", "c>d");
    List<Double> centres =
        Stream.of("a", "b", "c").map(name -> layout.box(name).x).sorted().toList();
    assertThat(centres.get(0)).isCloseTo(50, within(1e-9));
    assertThat(centres.get(1) - centres.get(0)).isGreaterThan(100);
    assertThat(centres.get(2) - centres.get(1)).isGreaterThan(100);
    assertThat(layout.box("d").x).isCloseTo(centres.get(1), within(1.0));
  }

  private static List<String> fromTheLeft(LayeredLayout layout, String... names) {
    return Arrays.stream(names)
        .sorted((one, other) -> Double.compare(layout.box(one).x, layout.box(other).x))
        .toList();
  }

  private static LayeredLayout layout(String... arrows) {
    TreeMap<String, Size> sizes = new TreeMap<>();
    List<Arrow> all =
        Arrays.stream(arrows)
            .map(text -> new Arrow(text.substring(0, 1), text.substring(2)))
            .toList();
    for (Arrow arrow : all) {
      sizes.put(arrow.from(), SIZE);
      sizes.put(arrow.to(), SIZE);
    }
    return new LayeredLayout(sizes, all);
  }
}
