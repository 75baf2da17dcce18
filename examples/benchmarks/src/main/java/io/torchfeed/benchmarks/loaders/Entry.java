// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.ArrayList;
import java.util.List;

/**
 * What is measured as one: a contestant with a number of workers.
 *
 * @param contestant its name in tables
 * @param program which process it lives in
 * @param variant what it is called there
 * @param workers worker threads or processes; of a limit the threads
 * @param kind what it is measured for
 */
record Entry(String contestant, String program, String variant, int workers, Kind kind) {
  /** What an entry is measured for. */
  enum Kind {
    /** torchfeed. */
    OURS,
    /** What cannot be passed. */
    LIMIT,
    /** Another way that a batch comes to be by one gather. */
    WHOLE_BATCH,
    /** Another way, sample by sample. */
    PEER
  }

  static final int MOST_WORKERS = 2;

  static final String NATIVE = "torchfeed, native engine";
  static final String JAVA = "torchfeed, Java engine";
  static final String COPY = "memcpy, reused buffer";
  static final String FRESH = "memcpy, fresh buffer";
  static final String CONVERSION = "C++ conversion, reused buffer";
  static final String PREAD = "pread loop";
  static final String PLAIN = "plain Java";
  static final String PRESETS = "presets' loader";
  static final String DJL = "DJL";
  static final String LIBTORCH = "libtorch C++, whole batch";
  static final String LIBTORCH_SAMPLE = "libtorch C++, per sample";
  static final String PYTHON = "Python DataLoader, per sample";
  static final String PYTHON_BATCH = "Python DataLoader, whole batch";
  static final String PYTHON_ITEMS = "Python DataLoader, __getitems__";

  /** The entries of a row, in the order of a turn. */
  static List<Entry> of(Row row) {
    List<Entry> all = new ArrayList<>();
    if (row == Row.D) {
      all.add(new Entry(PREAD, "pread", "pread", 1, Kind.LIMIT));
      each(all, NATIVE, "native", "native", Kind.OURS);
      return List.copyOf(all);
    }
    String limit = row == Row.C ? CONVERSION : COPY;
    all.add(new Entry(limit, "cpp", "copy", 1, Kind.LIMIT));
    all.add(new Entry(limit, "cpp", "copy", 2, Kind.LIMIT));
    if (row != Row.C) {
      each(all, NATIVE, "native", "native", Kind.OURS);
    }
    if (row != Row.B) {
      each(all, JAVA, "java", "java", Kind.OURS);
    }
    if (row != Row.C) {
      all.add(new Entry(FRESH, "cpp", "copy-fresh", 1, Kind.WHOLE_BATCH));
      all.add(new Entry(FRESH, "cpp", "copy-fresh", 2, Kind.WHOLE_BATCH));
    }
    each(all, LIBTORCH, "cpp", "libtorch", Kind.WHOLE_BATCH);
    each(all, LIBTORCH_SAMPLE, "cpp", "libtorch-sample", Kind.PEER);
    each(all, PLAIN, "plain", "plain", Kind.PEER);
    each(all, PRESETS, "presets", "presets", Kind.PEER);
    each(all, DJL, "djl", "djl", row == Row.C ? Kind.PEER : Kind.WHOLE_BATCH);
    each(all, PYTHON, "python", "sample", Kind.PEER);
    each(all, PYTHON_BATCH, "python", "batch", Kind.WHOLE_BATCH);
    each(all, PYTHON_ITEMS, "python", "items", Kind.WHOLE_BATCH);
    return List.copyOf(all);
  }

  private static void each(
      List<Entry> all, String contestant, String program, String variant, Kind kind) {
    for (int workers = 0; workers <= MOST_WORKERS; workers++) {
      all.add(new Entry(contestant, program, variant, workers, kind));
    }
  }

  /** Threads that load: without workers the consumer does. */
  int threads() {
    return Math.max(1, workers);
  }

  String workersText() {
    String noun = kind == Kind.LIMIT || FRESH.equals(contestant) ? "thread" : "worker";
    return workers + " " + noun + (workers == 1 ? "" : "s");
  }
}
