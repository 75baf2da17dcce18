// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.split;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The samples of a dataset grouped by a key, with keys and samples ascending. */
final class SampleGroups {
  private final int[] samples;
  private final int[] starts;

  SampleGroups(long[] keys) {
    long[] distinct = Arrays.stream(keys).sorted().distinct().toArray();
    this.starts = new int[distinct.length + 1];
    this.samples = new int[keys.length];
    int[] groupOf = new int[keys.length];
    for (int i = 0; i < keys.length; i++) {
      groupOf[i] = Arrays.binarySearch(distinct, keys[i]);
      starts[groupOf[i] + 1]++;
    }
    Arrays.parallelPrefix(starts, Integer::sum);
    int[] next = starts.clone();
    for (int i = 0; i < keys.length; i++) {
      samples[next[groupOf[i]]++] = i;
    }
  }

  int count() {
    return starts.length - 1;
  }

  int length(int group) {
    return starts[group + 1] - starts[group];
  }

  int sample(int group, long number) {
    return samples[starts[group] + (int) number];
  }

  /** Returns the samples of each part, ascending. */
  static List<long[]> parts(int[] partOfSample, int parts) {
    int[] lengths = new int[parts];
    for (int part : partOfSample) {
      lengths[part]++;
    }
    List<long[]> lists = new ArrayList<>();
    for (int part = 0; part < parts; part++) {
      lists.add(new long[lengths[part]]);
    }
    int[] filled = new int[parts];
    for (int sample = 0; sample < partOfSample.length; sample++) {
      int part = partOfSample[sample];
      lists.get(part)[filled[part]++] = sample;
    }
    return lists;
  }
}
