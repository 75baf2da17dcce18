// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import java.util.Arrays;

/** The samples of one batch, with their count in each class's list. Not thread-safe. */
final class ClassBatch {
  private final ClassLists lists;
  private final int[] ends; // end of each sample's classes in places
  private final int[] places;
  private final int[] batchOfSample;
  private final int[] batchOfCount;
  private final int[] counts; // of each class, valid for the batch in batchOfCount
  private int batch;

  /** Creates an empty batch. Takes 4 bytes per pair of sample and class, and 8 per sample. */
  ClassBatch(ClassLists lists) {
    this.lists = lists;
    ends = new int[lists.datasetSize() + 1];
    for (int place = 0; place < lists.count(); place++) {
      for (int i = 0; i < lists.length(place); i++) {
        ends[lists.sample(place, i) + 1]++;
      }
    }
    Arrays.parallelPrefix(ends, Math::addExact);
    places = new int[ends[lists.datasetSize()]];
    for (int place = 0; place < lists.count(); place++) {
      for (int i = 0; i < lists.length(place); i++) {
        places[ends[lists.sample(place, i)]++] = place;
      }
    }
    batchOfSample = new int[lists.datasetSize()];
    batchOfCount = new int[lists.count()];
    counts = new int[lists.count()];
    batch = 1;
  }

  /** Empties the batch. */
  void clear() {
    batch++;
  }

  boolean has(int sample) {
    return batchOfSample[sample] == batch;
  }

  /** Returns whether every sample of a class's list is in the batch. */
  boolean hasAllOf(int place) {
    return batchOfCount[place] == batch && counts[place] == lists.length(place);
  }

  /** Adds a sample, unless it is in the batch already. */
  void add(int sample) {
    if (has(sample)) {
      return;
    }
    batchOfSample[sample] = batch;
    for (int i = sample == 0 ? 0 : ends[sample - 1]; i < ends[sample]; i++) {
      int place = places[i];
      counts[place] = batchOfCount[place] == batch ? counts[place] + 1 : 1;
      batchOfCount[place] = batch;
    }
  }
}
