// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.CounterRandom;

/**
 * An alias table: draws an index by weight in constant time from two random words. Immutable; takes
 * 12 bytes per weight.
 *
 * <p>Source: M. D. Vose, A linear algorithm for generating random numbers with a given
 * distribution, IEEE Trans. Software Eng. 17(9), 1991.
 */
final class AliasTable {
  private final double[] threshold;
  private final int[] alias;

  AliasTable(Weights weights) {
    int count = weights.count();
    this.threshold = new double[count];
    this.alias = new int[count];
    double unit = count / sum(weights);
    int heaviest = 0;
    for (int i = 0; i < count; i++) {
      threshold[i] = weights.get(i) * unit;
      alias[i] = i;
      if (weights.get(i) > weights.get(heaviest)) {
        heaviest = i;
      }
    }
    pair(heaviest);
  }

  /** Returns the compensated sum, since a plain sum of 10^8 terms can be off by a whole column. */
  private static double sum(Weights weights) {
    double sum = 0;
    double lost = 0;
    for (int i = 0; i < weights.count(); i++) {
      double term = weights.get(i) - lost;
      double next = sum + term;
      lost = next - sum - term;
      sum = next;
    }
    return sum;
  }

  private void pair(int heaviest) {
    int count = alias.length;
    int[] open = new int[count]; // underfull columns from the front, overfull ones from the back
    int few = 0;
    int many = count;
    for (int i = 0; i < count; i++) {
      if (threshold[i] < 1) {
        open[few++] = i;
      } else {
        open[--many] = i;
      }
    }
    while (few > 0 && many < count) {
      int lighter = open[--few];
      int heavier = open[many];
      alias[lighter] = heavier;
      threshold[heavier] = threshold[heavier] + threshold[lighter] - 1;
      if (threshold[heavier] < 1) {
        many++;
        open[few++] = heavier;
      }
    }
    while (few > 0) {
      // Left over by rounding: a full column, or an empty one that must never be drawn.
      int left = open[--few];
      if (threshold[left] < 0.5) {
        alias[left] = heaviest;
      } else {
        threshold[left] = 1;
      }
    }
  }

  /** Returns the index that two random words draw. */
  int draw(long word, long next) {
    int column = (int) CounterRandom.below(word, alias.length);
    return CounterRandom.unit(next) < threshold[column] ? column : alias[column];
  }

  /** Returns the probability with which this table draws each index. */
  double[] probabilities() {
    int count = alias.length;
    double[] probabilities = new double[count];
    for (int i = 0; i < count; i++) {
      double own = Math.min(1, threshold[i]);
      probabilities[i] += own / count;
      probabilities[alias[i]] += (1 - own) / count;
    }
    return probabilities;
  }
}
