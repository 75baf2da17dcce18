// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.CounterRandom;
import org.jspecify.annotations.Nullable;

/**
 * One epoch of class-cycling draws: maps a position to its class, and the number of a class's draw
 * to a sample. Caches the permutations in use. Not thread-safe.
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
    return reshuffled
        ? order(lists.count(), seed ^ CLASS_SALT, newCycle)
        : SeekablePermutation.of(lists.count(), seed ^ CLASS_SALT, epoch);
  }

  /**
   * Returns the epoch's permutation with a given number. The lower 32 bits of the epoch are part of
   * the key, the upper ones of the seed.
   */
  private SeekablePermutation order(int length, long orderSeed, long number) {
    long upper = epoch >>> Integer.SIZE;
    long seedOfUpper = upper == 0 ? orderSeed : CounterRandom.seedOf(orderSeed, upper);
    return SeekablePermutation.of(length, seedOfUpper, (epoch << Integer.SIZE) + number);
  }

  /** Returns the class that a position serves. */
  int classAt(long position) {
    long wanted = position / lists.count();
    if (reshuffled && wanted != cycle) {
      classOrder = orderOf(wanted);
      cycle = wanted;
    }
    return (int) classOrder.at(position % lists.count());
  }

  /** Returns the sample of a class's draw; every lap of its list is a separate permutation. */
  int sample(int place, long draw) {
    int length = lists.length(place);
    long lap = draw / length;
    SeekablePermutation order = lapOrders[place];
    if (order == null || laps[place] != lap) {
      order = order(length, CounterRandom.seedOf(seed, place), lap);
      lapOrders[place] = order;
      laps[place] = lap;
    }
    return lists.sample(place, order.at(draw % length));
  }

  /** Returns the sample of a position when each cycle draws once from each class. */
  int sampleAt(long position) {
    return sample(classAt(position), position / lists.count());
  }

  /**
   * Returns the first samples of the epoch, such that no sample comes twice in a batch: a sample
   * that is already there is skipped for the next one of its list. A list that is entirely in the
   * batch yields the sample it would have yielded anyway.
   */
  int[] distinct(int samples, int globalBatch) {
    int[] order = new int[samples];
    long[] draws = new long[lists.count()];
    ClassBatch batch = new ClassBatch(lists);
    for (int position = 0; position < samples; position++) {
      if (position % globalBatch == 0) {
        batch.clear();
      }
      int place = classAt(position);
      long draw = draws[place];
      int sample = sample(place, draw);
      while (batch.has(sample) && !batch.hasAllOf(place)) {
        sample = sample(place, ++draw);
      }
      draws[place] = draw + 1;
      batch.add(sample);
      order[position] = sample;
    }
    return order;
  }
}
