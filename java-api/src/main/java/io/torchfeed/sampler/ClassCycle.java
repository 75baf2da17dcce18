// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import org.jspecify.annotations.Nullable;

/**
 * One epoch of class-cycling draws: which class a position serves, and a class's draws by number.
 * Keeps the permutations in use. Not thread-safe.
 */
final class ClassCycle {
  private static final long CLASS_SALT = 0x636C617373L; // "class"

  private final ClassLists lists;
  private final long seed;
  private final long epoch;
  private final boolean reshuffled;
  private SeekablePermutation classOrder;
  private long cycle;
  private final @Nullable SeekablePermutation[] lapOrders;
  private final long[] laps;

  ClassCycle(ClassLists lists, long seed, long epoch, boolean reshuffled) {
    this.lists = lists;
    this.seed = seed;
    this.epoch = epoch;
    this.reshuffled = reshuffled;
    this.classOrder = orderOf(0);
    this.lapOrders = new SeekablePermutation[lists.count()];
    this.laps = new long[lists.count()];
  }

  private SeekablePermutation orderOf(long newCycle) {
    long key = reshuffled ? (epoch << 32) + newCycle : epoch;
    return SeekablePermutation.of(lists.count(), seed ^ CLASS_SALT, key);
  }

  /** The class that a position serves. */
  int classAt(long position) {
    long wanted = position / lists.count();
    if (reshuffled && wanted != cycle) {
      classOrder = orderOf(wanted);
      cycle = wanted;
    }
    return (int) classOrder.at(position % lists.count());
  }

  /** The sample of a class's draw; every lap of its list is a permutation of its own. */
  int sample(int place, long draw) {
    int length = lists.length(place);
    long lap = draw / length;
    SeekablePermutation order = lapOrders[place];
    if (order == null || laps[place] != lap) {
      long listSeed = CounterRandom.seedOf(seed, place);
      order = SeekablePermutation.of(length, listSeed, (epoch << 32) + lap);
      lapOrders[place] = order;
      laps[place] = lap;
    }
    return lists.sample(place, order.at(draw % length));
  }

  /** The sample of a position when each cycle draws once from each class. */
  int sampleAt(long position) {
    return sample(classAt(position), position / lists.count());
  }

  /**
   * The first samples of the epoch when no sample may come twice in a batch: one that is there
   * already is passed over for the next of its list. A list that is in the batch as a whole gives
   * the sample it would have given anyway.
   */
  int[] distinct(int samples, int globalBatch) {
    int[] order = new int[samples];
    int[] lastBatch = new int[lists.datasetSize()];
    long[] draws = new long[lists.count()];
    for (int position = 0; position < samples; position++) {
      int batch = position / globalBatch + 1;
      int place = classAt(position);
      long draw = draws[place];
      int sample = sample(place, draw);
      // What is left of a lap and a whole one: the list as a whole.
      long end = (draw / lists.length(place) + 2) * lists.length(place);
      while (lastBatch[sample] == batch && draw + 1 < end) {
        sample = sample(place, ++draw);
      }
      if (lastBatch[sample] == batch) {
        draw = draws[place];
        sample = sample(place, draw);
      }
      draws[place] = draw + 1;
      lastBatch[sample] = batch;
      order[position] = sample;
    }
    return order;
  }
}
