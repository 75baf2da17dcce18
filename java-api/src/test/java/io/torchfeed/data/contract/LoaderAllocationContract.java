// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.function.IntFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the Java heap allocated per batch, in all threads of the loader. */
abstract class LoaderAllocationContract {
  private static final int BATCH = 256;
  private static final int BATCHES = 10_000;
  private static final int WARM_UP = 10_000;
  private static final long MAX_BYTES = 1_024;

  private final IntFunction<RowData> engine;
  private RowData data;

  LoaderAllocationContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(BATCH);
  }

  @AfterEach
  void closeData() {
    data.close();
  }

  private static long allocated() {
    ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    assumeTrue(threads.isThreadAllocatedMemorySupported(), "this JVM cannot count allocations");
    long bytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("torchfeed-worker-")) {
        bytes += threads.getThreadAllocatedBytes(thread.getId());
      }
    }
    return bytes;
  }

  private static void take(Batches batches, int count) {
    for (int i = 0; i < count; i++) {
      Batch batch = batches.next();
      if (batch.tensor(0).isNull()) {
        throw new AssertionError("no tensor");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aBatchAllocatesLessThanAKilobyteOfHeap(int workers, TestReporter reporter) {
    long[][] plan = new long[WARM_UP + BATCHES][];
    Arrays.fill(plan, LongStream.range(0, BATCH).toArray());
    try (DataLoader loader = data.over().batchSampler(Rows.batches(plan)).workers(workers).build();
        Batches batches = loader.epoch(0)) {
      take(batches, WARM_UP);
      long before = allocated();
      take(batches, BATCHES);
      long bytes = (allocated() - before) / BATCHES;
      reporter.publishEntry("bytes per batch", String.valueOf(bytes));
      assertThat(bytes).isLessThan(MAX_BYTES);
    }
  }
}
