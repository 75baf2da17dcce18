// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.RowSpec;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Tests of batches delivered as they become ready, with the Java engine. */
class JavaUnorderedTest extends UnorderedContract {
  private static final int SIZE = 100;

  JavaUnorderedTest() {
    super(RowData::samples);
  }

  /** A dataset whose sample 0 waits until it is released. */
  private record LateFirst(CountDownLatch go) implements Dataset {
    @Override
    public long size() {
      return SIZE;
    }

    @Override
    public List<RowSpec> columns() {
      return new RowData.Samples(SIZE).columns();
    }

    @Override
    public void read(long index, SampleWriter sample) throws Exception {
      if (index == 0) {
        go.await();
      }
      new RowData.Samples(SIZE).read(index, sample);
    }
  }

  @Test
  void aLateBatchIsOvertakenUntilTheWindowIsFull() {
    CountDownLatch go = new CountDownLatch(1);
    try (DataLoader loader =
            DataLoader.over(new LateFirst(go))
                .workers(2)
                .prefetch(4)
                .inOrder(false)
                .timeout(Duration.ofSeconds(30)) // fails rather than hangs
                .build();
        Batches batches = loader.epoch(0)) {
      for (long batch = 1; batch < 64; batch++) {
        Rows.assertHolds(batches.next(), batch);
        assertThat(((LoaderState.IndexState) batches.state()).deliveredAhead())
            .hasSize((int) batch);
      }
      assertThat(batches.position()).isZero();
      go.countDown(); // only the late batch is outstanding by now
      Rows.assertHolds(batches.next(), 0);
      assertThat(batches.position()).isEqualTo(64);
      assertThat(((LoaderState.IndexState) batches.state()).deliveredAhead()).isEmpty();
    }
  }
}
