// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.ArrayList;
import java.util.List;

/**
 * A unit of measurement: a contestant in a setting.
 *
 * @param contestant its name in tables
 * @param program the process that runs it
 * @param variant its name in that process
 * @param setting the number of threads or processes that load
 * @param kind the purpose of the measurement
 */
record Entry(String contestant, String program, String variant, Setting setting, Kind kind) {
  /** The purpose of measuring an entry. */
  enum Kind {
    /** torchfeed. */
    OURS,
    /** The limit: a bare loop over the same rows. */
    LIMIT,
    /** Another loader, a whole batch by one gather. */
    WHOLE_BATCH,
    /** Another loader, sample by sample. */
    PEER
  }

  static final String NATIVE = "torchfeed, native engine";
  static final String JAVA = "torchfeed, Java engine";
  static final String COPY = "memcpy, reused buffer";
  static final String FRESH = "memcpy, fresh buffer";
  static final String CONVERSION = "C++ conversion, reused buffer";
  static final String PREAD = "pread loop";
  static final String PLAIN = "plain Java";
  static final String PRESETS = "presets' loader, per sample";
  static final String PRESETS_BATCH = "presets' loader, whole batch";
  static final String DJL_SAMPLE = "DJL, per sample";
  static final String DJL_BATCH = "DJL, ArrayDataset";
  static final String DJL_EMBEDDING = "DJL, ArrayDataset with embedding";
  static final String LIBTORCH = "libtorch C++, whole batch";
  static final String LIBTORCH_SAMPLE = "libtorch C++, per sample";
  static final String PYTHON = "Python DataLoader, per sample";
  static final String PYTHON_ITEMS = "Python DataLoader, __getitems__";
  static final String PYTHON_BATCH = "Python DataLoader, whole batch";
  static final String PYTHON_TENSORS = "Python DataLoader, order as tensors";

  private static final List<Setting> WORKERS =
      List.of(Setting.NO_WORKER, Setting.ONE_WORKER, Setting.TWO_WORKERS);
  private static final List<Setting> THREADS = List.of(Setting.ONE_WORKER, Setting.TWO_WORKERS);

  /** Returns the entries of a row, in the order of a turn. */
  static List<Entry> of(Row row) {
    List<Entry> all = new ArrayList<>();
    if (row == Row.D) {
      all.add(new Entry(PREAD, "pread", "pread", Setting.ONE_WORKER, Kind.LIMIT));
      each(all, WORKERS, NATIVE, "native", "native", Kind.OURS);
      return List.copyOf(all);
    }
    each(all, THREADS, row == Row.C ? CONVERSION : COPY, "cpp", "copy", Kind.LIMIT);
    each(all, WORKERS, NATIVE, "native", "native", Kind.OURS);
    if (row != Row.B) {
      each(all, WORKERS, JAVA, "java", "java", Kind.OURS);
    }
    if (row != Row.C) {
      each(all, THREADS, FRESH, "cpp", "copy-fresh", Kind.WHOLE_BATCH);
    }
    perSample(all, row);
    wholeBatch(all);
    return List.copyOf(all);
  }

  private static void perSample(List<Entry> all, Row row) {
    each(all, WORKERS, LIBTORCH_SAMPLE, "cpp", "libtorch-sample", Kind.PEER);
    each(all, WORKERS, PLAIN, "plain", "plain", Kind.PEER);
    each(all, WORKERS, PRESETS, "presets", "presets", Kind.PEER);
    if (row == Row.C) {
      each(all, WORKERS, DJL_SAMPLE, "djl", "sample", Kind.PEER);
    }
    each(all, WORKERS, PYTHON, "python", "sample", Kind.PEER);
  }

  private static void wholeBatch(List<Entry> all) {
    each(all, List.of(Setting.values()), LIBTORCH, "cpp", "libtorch", Kind.WHOLE_BATCH);
    each(
        all,
        List.of(Setting.values()),
        PRESETS_BATCH,
        "presets-batch",
        "presets-batch",
        Kind.WHOLE_BATCH);
    each(all, WORKERS, DJL_BATCH, "djl", "ndindex", Kind.WHOLE_BATCH);
    each(all, List.of(Setting.values()), DJL_EMBEDDING, "djl", "embedding", Kind.WHOLE_BATCH);
    each(all, WORKERS, PYTHON_ITEMS, "python", "items", Kind.WHOLE_BATCH);
    each(all, WORKERS, PYTHON_BATCH, "python", "batch", Kind.WHOLE_BATCH);
    each(all, List.of(Setting.values()), PYTHON_TENSORS, "python", "tensors", Kind.WHOLE_BATCH);
  }

  private static void each(
      List<Entry> all,
      List<Setting> settings,
      String contestant,
      String program,
      String variant,
      Kind kind) {
    for (Setting setting : settings) {
      all.add(new Entry(contestant, program, setting.variant(variant), setting, kind));
    }
  }

  int workers() {
    return setting.workers();
  }

  String settingText() {
    return kind == Kind.LIMIT || FRESH.equals(contestant)
        ? setting.title().replace("worker", "thread")
        : setting.title();
  }
}
