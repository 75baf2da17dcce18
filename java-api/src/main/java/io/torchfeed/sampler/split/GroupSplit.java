// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.split;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.CounterRandom;
import io.torchfeed.internal.KeyOrder;
import io.torchfeed.internal.PartLengths;
import io.torchfeed.sampler.order.SeekablePermutation;
import java.util.List;

/**
 * A random split of a dataset that keeps groups together: all samples of one patient, speaker or
 * video go to the same part.
 *
 * <p>Groups are assigned in descending order of size, groups of equal size in random order. Each
 * goes to one of the parts that have room for it, chosen with a probability proportional to the
 * room, or, if none has, to the part with the most room. A part can therefore exceed its length
 * only by less than one group. The result depends on the arguments alone, not on the machine. Each
 * part is an ascending list that {@link io.torchfeed.sampler.order.ListSampler} accepts.
 *
 * <p>Takes O(n log n) time for n samples. Thread-safe.
 */
public final class GroupSplit {
  private static final long SALT = 0x67726F757073L; // "groups"

  private GroupSplit() {}

  /**
   * Splits into parts of approximately the given lengths.
   *
   * @param groupOfSample the group of each sample; any numbers
   * @param lengths desired number of samples in each part, each at least 0; their sum is the size
   *     of the dataset
   * @param seed any number
   * @return the dataset indices of each part, int64, ascending
   * @throws IllegalArgumentException if a length is negative or the sum differs from the size of
   *     the dataset
   */
  public static List<long[]> byLengths(long[] groupOfSample, long[] lengths, long seed) {
    requireNonNull(groupOfSample, "groupOfSample");
    requireNonNull(lengths, "lengths");
    return split(groupOfSample, PartLengths.checked(groupOfSample.length, lengths), seed);
  }

  /**
   * Splits into parts of approximately the given fractions of the samples.
   *
   * @param groupOfSample the group of each sample; any numbers
   * @param fractions the fraction of each part, in [0, 1]; they sum to 1 to within 10<sup>-9</sup>
   * @param seed any number
   * @return the dataset indices of each part, int64, ascending
   * @throws IllegalArgumentException if a fraction is outside of its range or the sum is not 1
   */
  public static List<long[]> byFractions(long[] groupOfSample, double[] fractions, long seed) {
    requireNonNull(fractions, "fractions");
    requireNonNull(groupOfSample, "groupOfSample");
    return split(groupOfSample, PartLengths.ofFractions(groupOfSample.length, fractions), seed);
  }

  private static List<long[]> split(long[] groupOfSample, long[] room, long seed) {
    SampleGroups groups = new SampleGroups(groupOfSample);
    int[] partOfSample = new int[groupOfSample.length];
    long key = CounterRandom.key(SALT, seed, 0);
    int[] order = descending(groups, seed);
    for (int i = 0; i < order.length; i++) {
      int group = order[i];
      int length = groups.length(group);
      int part = choose(room, length, CounterRandom.word(key, i));
      room[part] -= length;
      for (int k = 0; k < length; k++) {
        partOfSample[groups.sample(group, k)] = part;
      }
    }
    return SampleGroups.parts(partOfSample, room.length);
  }

  private static int[] descending(SampleGroups groups, long seed) {
    int count = groups.count();
    if (count == 0) {
      return new int[0];
    }
    SeekablePermutation shuffled = SeekablePermutation.of(count, seed, 0);
    double[] keys = new double[count];
    for (int i = 0; i < count; i++) {
      keys[i] = -groups.length((int) shuffled.at(i));
    }
    int[] order = KeyOrder.ascending(keys);
    for (int i = 0; i < count; i++) {
      order[i] = (int) shuffled.at(order[i]);
    }
    return order;
  }

  private static int choose(long[] room, int length, long word) {
    long fitting = 0;
    int widest = 0;
    for (int part = 0; part < room.length; part++) {
      fitting += room[part] >= length ? room[part] : 0;
      if (room[part] > room[widest]) {
        widest = part;
      }
    }
    if (fitting == 0) {
      return widest;
    }
    long drawn = CounterRandom.below(word, fitting);
    int part = 0;
    while (room[part] < length || drawn >= room[part]) {
      drawn -= room[part] >= length ? room[part] : 0;
      part++;
    }
    return part;
  }
}
