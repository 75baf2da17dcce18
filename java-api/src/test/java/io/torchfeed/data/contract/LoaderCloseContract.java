// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.ProcessStatus;
import io.torchfeed.data.RowData;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

abstract class LoaderCloseContract {
  private final IntFunction<RowData> engine;
  private RowData data;

  LoaderCloseContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(256);
  }

  @AfterEach
  void closeData() {
    data.close();
  }

  private DataLoader loader(int workers) {
    return data.over()
        .sampler(DistributedRandomSampler.of(256, Part.whole()))
        .batchSize(16)
        .workers(workers)
        .build();
  }

  @Test
  void closingTwiceIsSilent() {
    DataLoader loader = loader(2);
    Batches batches = loader.epoch(0);
    batches.close();
    batches.close();
    loader.close();
    loader.close();
    data.close();
    data.close();
  }

  @Test
  void theLoaderMayBeClosedBeforeItsPasses() {
    DataLoader loader = loader(2);
    Batches batches = loader.epoch(0);
    Batch batch = batches.next();
    loader.close();
    assertThatIllegalStateException()
        .isThrownBy(batches::next)
        .withMessage("the pass over epoch 0, from batch 0 on, is closed");
    assertThatIllegalStateException().isThrownBy(batches::hasNext);
    assertThatIllegalStateException().isThrownBy(() -> batch.tensor(0));
    batches.close();
  }

  @Test
  void useAfterCloseReportsWhatIsClosed() {
    DataLoader loader = loader(1);
    loader.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> loader.epoch(0))
        .withMessage("DataLoader is closed");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void closingFromAnotherThreadEndsTheConsumerWithAnException(int workers) throws Exception {
    for (int round = 0; round < manyRounds(); round++) {
      DataLoader loader = loader(workers);
      AtomicReference<Throwable> end = new AtomicReference<>();
      Thread consumer =
          new Thread(
              () -> {
                try {
                  for (long epoch = 0; ; epoch++) {
                    try (Batches batches = loader.epoch(epoch)) {
                      for (Batch batch : batches) {
                        batch.size();
                      }
                    }
                  }
                } catch (Throwable e) {
                  end.set(e);
                }
              });
      consumer.start();
      // from its start to several epochs later
      LockSupport.parkNanos(round * 3_000_000L / manyRounds());
      loader.close();
      consumer.join(30_000);
      assertThat(consumer.isAlive()).isFalse();
      assertThat(end.get())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("closed");
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void manyAbandonedEpochsKeepMemoryAndThreadsFlat() throws Exception {
    Random random = new Random(5);
    long objects = torchfeed.live_objects();
    try (DataLoader loader = loader(2)) {
      leaveEarly(loader, random, manyEpochs() / 20);
      long threads = ProcessStatus.threads();
      long resident = ProcessStatus.residentKib();
      leaveEarly(loader, random, manyEpochs());
      assertThat(ProcessStatus.threads())
          .isLessThanOrEqualTo(threads + 2); // threads of the JVM vary
      assertThat(ProcessStatus.residentKib() - resident).as("growth in KiB").isLessThan(64 << 10);
      assertThat(torchfeed.live_objects() - objects) // an idle engine, or slabs
          .isLessThan(loader.prefetch() + 6);
    }
    assertThat(torchfeed.live_objects()).isEqualTo(objects);
  }

  int manyEpochs() {
    return 10_000;
  }

  int manyRounds() {
    return 300;
  }

  private static void leaveEarly(DataLoader loader, Random random, int epochs) {
    for (int epoch = 0; epoch < epochs; epoch++) {
      try (Batches batches = loader.epoch(epoch)) {
        for (int batch = random.nextInt(17); batch > 0; batch--) {
          batches.next();
        }
      }
    }
  }
}
