// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.testing.FakeDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When batches are taken from the host, and where their failures come out. */
class TransferFeedTest {
  /** Batches that are ready when the test says so. */
  private static final class Scripted implements Feed {
    final List<Long> taken = new ArrayList<>();
    final Map<Long, Throwable> failures = new HashMap<>();
    boolean ready = true;
    long epoch = -1;
    boolean interrupted;
    boolean closed;
    String device = "";

    @Override
    public void pinFor(String device) {
      this.device = device;
    }

    @Override
    public boolean rewind(long epoch) {
      this.epoch = epoch;
      return true;
    }

    @Override
    public void request(long batch, long[] indices, int size) {}

    @Override
    public void start() {}

    @Override
    public Gathered take(long batch) {
      Throwable failure = failures.remove(batch);
      if (failure instanceof LoaderTimeoutException timeout) {
        throw timeout;
      }
      taken.add(batch);
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure != null) {
        return Gathered.failed(batch, (RuntimeException) failure);
      }
      return Gathered.of(batch, new Tensor[] {Tensor.create(batch, 10 * batch)}, 2, null);
    }

    @Override
    public boolean isReady() {
      return ready;
    }

    @Override
    public int ready() {
      return ready ? 1 : 0;
    }

    @Override
    public long slabBytes() {
      return 16;
    }

    @Override
    public void interrupt() {
      interrupted = true;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private final Scripted host = new Scripted();
  private final LoaderMeter meter = new LoaderMeter(1, false);
  private TransferFeed feed;

  TransferFeedTest() {
    FakeDevice.load(); // or the test is skipped, without an end
  }

  @BeforeEach
  void begin() {
    feed = TransferFeed.over(host, FakeDevice.NAME, meter);
    feed.rewind(3);
    for (long batch = 0; batch < 4; batch++) {
      feed.request(batch, new long[] {batch}, 1);
    }
    feed.start();
  }

  @AfterEach
  void end() {
    feed.close();
    assertThat(host.closed).isTrue();
  }

  private void assertTakes(long batch) {
    Gathered gathered = feed.take(batch);
    assertThat(gathered.batch).isEqualTo(batch);
    try (Tensor tensor = gathered.tensors[0]) {
      assertThat(Rows.longs(tensor)).containsExactly(batch, 10 * batch);
    }
  }

  @Test
  void theNextBatchIsSentWhenOneIsTaken() {
    assertThat(host.device).isEqualTo(FakeDevice.NAME);
    assertThat(host.epoch).isEqualTo(3);
    assertTakes(0);
    assertThat(host.taken).containsExactly(0L, 1L);
    assertTakes(1);
    assertThat(host.taken).containsExactly(0L, 1L, 2L);
    assertTakes(2);
    assertTakes(3);
    assertThat(host.taken).containsExactly(0L, 1L, 2L, 3L); // and not one that was not asked for
    assertThat(meter.stats(1).transferring()).isPositive();
  }

  @Test
  void aBatchIsNotHeldUpByTheNext() {
    host.ready = false;
    assertTakes(0);
    assertThat(host.taken).containsExactly(0L);
    assertTakes(1);
    host.ready = true;
    assertTakes(2);
    assertThat(host.taken).containsExactly(0L, 1L, 2L, 3L);
  }

  @Test
  void aFailureIsToldAtItsBatch() {
    host.failures.put(1L, new IllegalStateException("broken"));
    host.failures.put(2L, new OutOfMemoryError("full"));
    assertTakes(0);
    assertThat(feed.take(1).failure).hasMessage("broken");
    assertThatThrownBy(() -> feed.take(2)).isInstanceOf(OutOfMemoryError.class);
    assertTakes(3);
  }

  @Test
  void aBatchThatTookTooLongCanBeTakenAgain() {
    host.ready = false;
    host.failures.put(0L, new LoaderTimeoutException(3, 0, Duration.ofSeconds(1), "nothing"));
    assertThatThrownBy(() -> feed.take(0)).isInstanceOf(LoaderTimeoutException.class);
    for (long batch = 0; batch < 4; batch++) {
      host.ready = batch == 2;
      assertTakes(batch);
    }
  }

  @Test
  void whatWasSentIsDroppedWithItsPass() {
    assertTakes(0);
    feed.rewind(4);
    host.taken.clear();
    feed.request(0, new long[] {0}, 1);
    assertTakes(0);
    assertThat(host.taken).containsExactly(0L);
  }

  @Test
  void anInterruptReachesBothStages() {
    feed.interrupt();
    assertThat(host.interrupted).isTrue();
    assertThatThrownBy(() -> feed.take(0)).hasMessageContaining("interrupted");
    feed.rewind(5);
    feed.request(0, new long[] {0}, 1);
    assertTakes(0);
  }
}
