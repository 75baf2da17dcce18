// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.ProcessStatus;
import io.torchfeed.data.RowData;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.io.IOException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Soak tests, short by default. For the long run: {@code -Dtorchfeed.soak.batches=1000000
 * -Dtorchfeed.soak.loaders=1000}.
 */
abstract class LoaderSoakContract {
  private static final long BATCHES = Long.getLong("torchfeed.soak.batches", 20_000);
  private static final int LOADERS = Integer.getInteger("torchfeed.soak.loaders", 100);
  private static final int SIZE = 4_096;
  private static final long MAX_GROWTH_KIB = 64 << 10;

  private final IntFunction<RowData> engine;
  private RowData data;

  LoaderSoakContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(SIZE);
  }

  @AfterEach
  void closeData() {
    data.close();
  }

  private DataLoader loader(int workers, boolean inOrder) {
    return data.over()
        .sampler(DistributedRandomSampler.of(SIZE, Part.whole()))
        .batchSize(8)
        .workers(workers)
        .inOrder(inOrder)
        .build();
  }

  private static void take(DataLoader loader, long batches) {
    long taken = 0;
    for (long epoch = 0; taken < batches; epoch++) {
      try (Batches pass = loader.epoch(epoch)) {
        while (taken < batches && pass.hasNext()) {
          Batch batch = pass.next();
          assertThat(batch.tensor(1).data_ptr_long().get()).isEqualTo(batch.indices()[0]);
          taken++;
        }
      }
    }
  }

  private static long heapKib() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return (runtime.totalMemory() - runtime.freeMemory()) >> 10;
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void manyBatchesKeepMemoryAndThreadsFlat(TestReporter reporter) throws IOException {
    try (DataLoader loader = loader(2, true)) {
      take(loader, BATCHES / 4);
      long heap = heapKib();
      long resident = ProcessStatus.residentKib();
      long threads = ProcessStatus.threads();
      long objects = torchfeed.live_objects();
      take(loader, BATCHES);
      long heapGrowth = heapKib() - heap;
      long residentGrowth = ProcessStatus.residentKib() - resident;
      reporter.publishEntry(
          "growth over %d batches".formatted(BATCHES),
          "resident %d KiB, heap after collection %d KiB, threads %d, native objects %d"
              .formatted(
                  residentGrowth,
                  heapGrowth,
                  ProcessStatus.threads() - threads,
                  torchfeed.live_objects() - objects));
      assertThat(residentGrowth).isLessThan(MAX_GROWTH_KIB);
      assertThat(heapGrowth).isLessThan(MAX_GROWTH_KIB);
      assertThat(ProcessStatus.threads()).isLessThanOrEqualTo(threads + 2); // threads of the JVM
      assertThat(torchfeed.live_objects() - objects).isLessThan(10); // an idle engine, or slabs
    }
  }

  @Test
  void loadersClosedAtAnyMomentEndTheirConsumersAndLeakNothing() throws InterruptedException {
    Random random = new Random(11);
    long objects = torchfeed.live_objects();
    for (int round = 0; round < LOADERS; round++) {
      DataLoader loader = loader(random.nextInt(4), random.nextBoolean());
      AtomicReference<Throwable> end = new AtomicReference<>();
      Thread consumer =
          new Thread(
              () -> {
                try {
                  take(loader, Long.MAX_VALUE);
                } catch (Throwable e) {
                  end.set(e);
                }
              });
      Thread other = new Thread(loader::close);
      consumer.start();
      LockSupport.parkNanos(random.nextInt(3_000_000)); // from its start to epochs later
      other.start();
      loader.close();
      other.join();
      consumer.join();
      assertThat(end.get())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageMatching(
              ".* (is closed|has ended: .* or its pass is over or closed; .*)"); // pass or batch
    }
    assertThat(torchfeed.live_objects()).isEqualTo(objects);
  }
}
