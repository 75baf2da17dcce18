// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

/** The PageRank values of all vertices. */
final class Scores {
  private final double[] destinations;
  private final double others;
  private final long vertices;

  /**
   * Creates the values.
   *
   * @param destinations values of the vertices with incoming edges
   * @param others value of each other vertex
   * @param vertices number of all vertices
   */
  Scores(double[] destinations, double others, long vertices) {
    this.destinations = destinations;
    this.others = others;
    this.vertices = vertices;
  }

  double of(int destination) {
    return destinations[destination];
  }

  double others() {
    return others;
  }

  long vertices() {
    return vertices;
  }

  double sum() {
    double sum = (vertices - destinations.length) * others;
    for (double value : destinations) {
      sum += value;
    }
    return sum;
  }
}
