// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.ContentHash;
import io.torchfeed.internal.HeapMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Set;

/** The samples of each class that has any, ascending. Immutable. */
final class ClassLists {
  private final int datasetSize;
  private final int[][] samplesOfClass;
  private final List<Integer> classes;
  private final List<Integer> emptyClasses;

  private ClassLists(int datasetSize, int[][] samplesOfClass, Set<Integer> ignored) {
    this.datasetSize = datasetSize;
    List<Integer> used = new ArrayList<>();
    List<Integer> empty = new ArrayList<>();
    for (int c = 0; c < samplesOfClass.length; c++) {
      if (!ignored.contains(c)) {
        (samplesOfClass[c].length > 0 ? used : empty).add(c);
      }
    }
    this.classes = List.copyOf(used);
    this.emptyClasses = List.copyOf(empty);
    this.samplesOfClass = used.stream().map(c -> samplesOfClass[c]).toArray(int[][]::new);
    if (used.isEmpty()) {
      throw new IllegalArgumentException(
          "at least one class must have a sample, got %d samples, %d empty and %d ignored classes"
              .formatted(datasetSize, empty.size(), ignored.size()));
    }
  }

  /** Creates the lists of classes 0..classes-1; any other class must be ignored. */
  static ClassLists of(int classes, int[][] classesOfSample, Set<Integer> ignored) {
    if (classes < 1) {
      throw new IllegalArgumentException("classes must be at least 1, got " + classes);
    }
    return HeapMemory.planned(
        "lists of " + classes + " classes", () -> make(classes, classesOfSample, ignored));
  }

  private static ClassLists make(int classes, int[][] classesOfSample, Set<Integer> ignored) {
    int[][] lists = new int[classes][0];
    int[] lengths = new int[classes];
    for (int sample = 0; sample < classesOfSample.length; sample++) {
      int[] classesOfOne = classesOfSample[sample];
      if (classesOfOne == null) {
        throw new NullPointerException(
            "classesOfSample[%d]: a sample without a class has an empty array".formatted(sample));
      }
      for (int c : classesOfOne) {
        if (ignored.contains(c)) {
          continue;
        }
        if (c < 0 || c >= classes) {
          throw new IllegalArgumentException(
              "a class must be in [0, %d] or be ignored, got %d for sample %d"
                  .formatted(classes - 1, c, sample));
        }
        add(lists, lengths, c, sample);
      }
    }
    for (int c = 0; c < classes; c++) {
      lists[c] = Arrays.copyOf(lists[c], lengths[c]);
    }
    return new ClassLists(classesOfSample.length, lists, ignored);
  }

  private static void add(int[][] lists, int[] lengths, int c, int sample) {
    int length = lengths[c];
    if (length > 0 && lists[c][length - 1] == sample) {
      return; // listed twice for one sample
    }
    if (length == lists[c].length) {
      lists[c] = Arrays.copyOf(lists[c], Math.max(4, length + (length >> 1)));
    }
    lists[c][length] = sample;
    lengths[c]++;
  }

  int datasetSize() {
    return datasetSize;
  }

  /** Returns the number of classes that have samples. */
  int count() {
    return samplesOfClass.length;
  }

  /** Returns the numbers of the classes that have samples, ascending. */
  List<Integer> classes() {
    return classes;
  }

  /** Returns the classes that are not ignored and have no sample, ascending. */
  List<Integer> emptyClasses() {
    return emptyClasses;
  }

  /** Returns the samples that are in no list, ascending. */
  int[] samplesWithoutClass() {
    BitSet listed = new BitSet(datasetSize);
    for (int[] list : samplesOfClass) {
      for (int sample : list) {
        listed.set(sample);
      }
    }
    listed.flip(0, datasetSize);
    return listed.stream().toArray();
  }

  /** Returns the number of samples of a class, given as a place in {@link #classes}. */
  int length(int place) {
    return samplesOfClass[place].length;
  }

  int longest() {
    return Arrays.stream(samplesOfClass).mapToInt(list -> list.length).max().orElseThrow();
  }

  int sample(int place, long number) {
    return samplesOfClass[place][(int) number];
  }

  String hash() {
    ContentHash hash = new ContentHash().add(datasetSize).add(samplesOfClass.length);
    for (int place = 0; place < samplesOfClass.length; place++) {
      hash.add(classes.get(place)).add(samplesOfClass[place]);
    }
    return hash.hex();
  }
}
