// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.packages;

import static java.util.Objects.requireNonNull;

import io.torchfeed.packages.PackageGraph.Arrow;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Horizontal layers of boxes: each box one layer above the highest of those it points to. An arrow
 * that passes through a layer has a slot of its own there, so it meets no box. Deterministic.
 */
final class LayeredLayout {
  private static final double GAP = 24;
  private static final double LAYER_GAP = 56;
  private static final double BEND_WIDTH = 8;
  private static final int STARTS = 100;
  private static final int SWEEPS = 200;

  record Size(double width, double height) {}

  /** The place of a box, or of an arrow that passes through, in a layer. */
  static final class Slot {
    final double width;
    final double height;
    final List<Slot> above = new ArrayList<>();
    final List<Slot> below = new ArrayList<>();

    /** The position in the layer, from the left. */
    private int position;

    /** The horizontal centre. */
    double x;

    /** The upper edge of the layer. */
    double top;

    /** The lower edge of the layer. */
    double bottom;

    private Slot(double width, double height) {
      this.width = width;
      this.height = height;
    }

    double boxTop() {
      return (top + bottom - height) / 2;
    }

    double boxBottom() {
      return (top + bottom + height) / 2;
    }

    private double relative(List<Slot> layer) {
      return (position + 0.5) / layer.size();
    }
  }

  /** From left to right; the lowest layer first. */
  private final List<List<Slot>> layers = new ArrayList<>();

  private final NavigableMap<String, Slot> boxes = new TreeMap<>();
  private final List<List<Slot>> routes = new ArrayList<>();

  /** Lays out boxes of these sizes; the arrows must not form a cycle. */
  LayeredLayout(NavigableMap<String, Size> sizes, List<Arrow> arrows) {
    sizes.forEach(
        (name, size) ->
            boxes.put(name, add(new Slot(size.width(), size.height()), layerOf(name, arrows))));
    for (Arrow arrow : arrows) {
      routes.add(route(arrow, arrows));
    }
    order();
    placeLayers();
    placeSlots();
  }

  Slot box(String name) {
    return requireNonNull(boxes.get(name), name);
  }

  /** Returns the slots of each arrow, from the box where it starts to the box where it ends. */
  List<List<Slot>> routes() {
    return routes;
  }

  double width() {
    return slots().mapToDouble(slot -> slot.x + slot.width / 2).max().orElse(0);
  }

  double height() {
    return slots().mapToDouble(slot -> slot.bottom).max().orElse(0);
  }

  private static int layerOf(String name, List<Arrow> arrows) {
    return arrows.stream()
        .filter(arrow -> arrow.from().equals(name))
        .mapToInt(arrow -> layerOf(arrow.to(), arrows) + 1)
        .max()
        .orElse(0);
  }

  private Slot add(Slot slot, int layer) {
    while (layers.size() <= layer) {
      layers.add(new ArrayList<>());
    }
    layers.get(layer).add(slot);
    return slot;
  }

  private List<Slot> route(Arrow arrow, List<Arrow> arrows) {
    List<Slot> route = new ArrayList<>(List.of(box(arrow.from())));
    int end = layerOf(arrow.to(), arrows);
    for (int layer = layerOf(arrow.from(), arrows) - 1; layer > end; layer--) {
      route.add(add(new Slot(BEND_WIDTH, 0), layer));
    }
    route.add(box(arrow.to()));
    for (int i = 1; i < route.size(); i++) {
      route.get(i - 1).below.add(route.get(i));
      route.get(i).above.add(route.get(i - 1));
    }
    return route;
  }

  /**
   * Orders each layer for few crossings and short arrows: the best local optimum of many starts.
   */
  private void order() {
    Random random = new Random(1);
    List<List<Slot>> best = List.of();
    double least = Double.POSITIVE_INFINITY;
    for (int start = 0; start < STARTS; start++) {
      layers.forEach(layer -> Collections.shuffle(layer, random));
      layers.forEach(LayeredLayout::number);
      double cost = improve();
      if (cost < least) {
        least = cost;
        best = layers.stream().map(List::copyOf).toList();
      }
    }
    for (int i = 0; i < layers.size(); i++) {
      layers.get(i).clear();
      layers.get(i).addAll(best.get(i));
      number(layers.get(i));
    }
  }

  private static void number(List<Slot> layer) {
    for (int i = 0; i < layer.size(); i++) {
      layer.get(i).position = i;
    }
  }

  /** Swaps slots as long as that reduces the cost, which it returns. */
  private double improve() {
    double cost = cost();
    for (boolean improved = true; improved; ) {
      improved = false;
      for (List<Slot> layer : layers) {
        for (int i = 0; i < layer.size(); i++) {
          for (int k = i + 1; k < layer.size(); k++) {
            swap(layer, i, k);
            double swapped = cost();
            if (swapped < cost) {
              cost = swapped;
              improved = true;
            } else {
              swap(layer, i, k);
            }
          }
        }
      }
    }
    return cost;
  }

  private static void swap(List<Slot> layer, int i, int k) {
    Collections.swap(layer, i, k);
    layer.get(i).position = i;
    layer.get(k).position = k;
  }

  private double cost() {
    double cost = 0;
    for (int i = 1; i < layers.size(); i++) {
      List<Slot> upper = layers.get(i);
      List<Slot> lower = layers.get(i - 1);
      for (Slot from : upper) {
        for (Slot to : from.below) {
          cost += Math.abs(from.relative(upper) - to.relative(lower)) + crossings(upper, from, to);
        }
      }
    }
    return cost;
  }

  /** Returns how many arrows to the right of this one end to the left of it. */
  private static long crossings(List<Slot> upper, Slot from, Slot to) {
    return upper.subList(from.position + 1, upper.size()).stream()
        .flatMap(other -> other.below.stream())
        .filter(target -> target.position < to.position)
        .count();
  }

  private void placeLayers() {
    double y = 0;
    for (int i = layers.size() - 1; i >= 0; i--) {
      List<Slot> layer = layers.get(i);
      double top = y;
      double bottom = y + layer.stream().mapToDouble(slot -> slot.height).max().orElse(0);
      layer.forEach(slot -> slot.top = top);
      layer.forEach(slot -> slot.bottom = bottom);
      y = bottom + LAYER_GAP;
    }
  }

  /** Moves each slot towards the middle of its neighbours above and below, as space permits. */
  private void placeSlots() {
    layers.forEach(layer -> spread(layer, new double[layer.size()]));
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
      for (List<Slot> layer : layers) {
        spread(layer, layer.stream().mapToDouble(LayeredLayout::middle).toArray());
      }
    }
    double left = slots().mapToDouble(slot -> slot.x - slot.width / 2).min().orElse(0);
    slots().forEach(slot -> slot.x -= left);
  }

  private static double middle(Slot slot) {
    return Stream.concat(slot.above.stream(), slot.below.stream())
        .mapToDouble(other -> other.x)
        .average()
        .orElse(slot.x);
  }

  /** Places a layer near the wanted positions: halfway between pushing right and pushing left. */
  private static void spread(List<Slot> layer, double[] wanted) {
    double[] right = wanted.clone();
    for (int i = 1; i < right.length; i++) {
      right[i] = Math.max(right[i], right[i - 1] + distance(layer, i));
    }
    double[] left = wanted.clone();
    for (int i = left.length - 1; i > 0; i--) {
      left[i - 1] = Math.min(left[i - 1], left[i] - distance(layer, i));
    }
    for (int i = 0; i < left.length; i++) {
      layer.get(i).x = (right[i] + left[i]) / 2;
    }
  }

  /** Returns the smallest distance between the centres of a slot and the one to its left. */
  private static double distance(List<Slot> layer, int i) {
    return (layer.get(i - 1).width + layer.get(i).width) / 2 + GAP;
  }

  private Stream<Slot> slots() {
    return layers.stream().flatMap(List::stream);
  }
}
