// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

/** The number of threads or processes with which a contestant loads. */
enum Setting {
  /** The consumer loads. */
  NO_WORKER(0, 1, "0 workers"),
  ONE_WORKER(1, 1, "1 worker"),
  TWO_WORKERS(2, 1, "2 workers"),
  /** The consumer loads, and libtorch splits each operation across two threads. */
  TWO_THREADS(0, 2, "0 workers, 2 threads per operation");

  private final int workers;
  private final int operationThreads;
  private final String title;

  Setting(int workers, int operationThreads, String title) {
    this.workers = workers;
    this.operationThreads = operationThreads;
    this.title = title;
  }

  /** Returns the number of worker threads or processes; for a limit, its threads. */
  int workers() {
    return workers;
  }

  /** Returns the number of threads per libtorch operation. */
  int operationThreads() {
    return operationThreads;
  }

  String title() {
    return title;
  }

  /**
   * Returns the number of threads that load; without workers, the consumer and its operations do.
   */
  int threads() {
    return Math.max(1, workers) * operationThreads;
  }

  /** Returns the number of threads per operation that a variant's name in the protocol selects. */
  static int operationThreads(String variant) {
    return variant.endsWith(TWO_THREADS.suffix()) ? TWO_THREADS.operationThreads : 1;
  }

  /** Returns the variant's name in the protocol of {@link ContestantProgram}. */
  String variant(String name) {
    return operationThreads == 1 ? name : name + suffix();
  }

  private String suffix() {
    return "-" + operationThreads + "-threads";
  }
}
