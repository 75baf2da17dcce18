// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.engine.TransferEngine;
import io.torchfeed.data.task.BatchRequest;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.data.task.LoaderFigures;
import io.torchfeed.data.task.LoaderMeter;
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

/** Tests of when batches are taken from the host, and where their failures are reported. */
class TransferEngineTest {
  /** An engine whose batches become ready under the control of the test. */
  private static final class Scripted implements BatchEngine {
    final List<Long> taken = new ArrayList<>();
    final Map<Long, Throwable> failures = new HashMap<>();
    boolean ready = true;
    int waiting; // batches requested and not yet taken
    long epoch = -1;
    boolean interrupted;
    boolean closed;
    String device = "";

    @Override
    public void pinFor(String device, boolean once) {
      this.device = device;
    }

    @Override
    public boolean rewind(long epoch) {
      this.epoch = epoch;
      waiting = 0;
      return true;
    }

    @Override
    public void request(BatchRequest request) {
      waiting++;
    }

    @Override
    public void start() {}

    @Override
    public LoadedBatch take(long batch) {
      Throwable failure = failures.remove(batch);
      if (failure instanceof LoaderTimeoutException timeout) {
        throw timeout;
      }
      if (failure instanceof Error error) {
        throw error;
      }
      taken.add(batch);
      waiting--;
      if (failure != null) {
        return LoadedBatch.failed(batch, (RuntimeException) failure);
      }
      return LoadedBatch.gathered(batch, new Tensor[] {Tensor.create(batch, 10 * batch)}, 2, 16, 0);
    }

    @Override
    public long dropIfNothing(long due) {
      return NO_REQUEST;
    }

    @Override
    public boolean isReady() {
      return ready && waiting > 0;
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
  private TransferEngine engine;

  TransferEngineTest() {
    FakeDevice.load(); // skips the test if there is none, and then end() does nothing
  }

  @BeforeEach
  void begin() {
    engine = TransferEngine.over(host, FakeDevice.NAME, meter);
    engine.rewind(3);
    for (long batch = 0; batch < 4; batch++) {
      engine.request(new IndexRequest(1));
    }
    engine.start();
  }

  @AfterEach
  void end() {
    engine.close();
    assertThat(host.closed).isTrue();
  }

  private void assertTakes(long batch) {
    LoadedBatch gathered = engine.take(batch);
    assertThat(gathered.batch).isEqualTo(batch);
    try (Tensor tensor = gathered.tensors[0]) {
      assertThat(Rows.longs(tensor)).containsExactly(batch, 10 * batch);
    }
  }

  @Test
  void takingABatchSendsTheNextOne() {
    assertThat(host.device).isEqualTo(FakeDevice.NAME);
    assertThat(host.epoch).isEqualTo(3);
    assertTakes(0);
    assertThat(host.taken).containsExactly(0L, 1L);
    assertTakes(1);
    assertThat(host.taken).containsExactly(0L, 1L, 2L);
    assertTakes(2);
    assertTakes(3);
    assertThat(host.taken).containsExactly(0L, 1L, 2L, 3L); // only batches that were requested
    LoaderFigures figures = meter.figures(1);
    assertThat(figures.transferring()).isPositive();
    assertThat(figures.flow().awaitingDevice())
        .isPositive()
        .isLessThanOrEqualTo(figures.transferring());
    assertThat(figures.flow().handing()).isPositive();
    // 1 ns per byte by the clock of the fake device, and one of eight batches is timed
    assertThat(figures.flow().copying()).isEqualTo(Duration.ofNanos(8 * 2 * Long.BYTES));
  }

  @Test
  void aBatchIsNotDelayedByTheNextOne() {
    host.ready = false;
    assertTakes(0);
    assertThat(host.taken).containsExactly(0L);
    assertTakes(1);
    host.ready = true;
    assertTakes(2);
    assertThat(host.taken).containsExactly(0L, 1L, 2L, 3L);
  }

  @Test
  void aFailureIsDeliveredWithItsBatch() {
    host.failures.put(1L, new IllegalStateException("broken"));
    host.failures.put(2L, new OutOfMemoryError("full"));
    assertTakes(0);
    assertThat(engine.take(1).failure).hasMessage("broken");
    assertThatThrownBy(() -> engine.take(2)).isInstanceOf(OutOfMemoryError.class);
    assertTakes(2); // had not been taken
    assertTakes(3);
  }

  @Test
  void aBatchCanBeTakenAgainAfterATimeout() {
    host.ready = false;
    host.failures.put(0L, new LoaderTimeoutException(3, 0, Duration.ofSeconds(1), "nothing"));
    assertThatThrownBy(() -> engine.take(0)).isInstanceOf(LoaderTimeoutException.class);
    for (long batch = 0; batch < 4; batch++) {
      host.ready = batch == 2;
      assertTakes(batch);
    }
  }

  @Test
  void batchesSentAheadAreDroppedWithTheirPass() {
    assertTakes(0);
    engine.rewind(4);
    host.taken.clear();
    engine.request(new IndexRequest(1));
    assertTakes(0);
    assertThat(host.taken).containsExactly(0L);
  }

  @Test
  void anInterruptReachesBothStages() {
    engine.interrupt();
    assertThat(host.interrupted).isTrue();
    assertThat(engine.take(0).failure).hasMessageContaining("interrupted");
    engine.rewind(5);
    engine.request(new IndexRequest(1));
    assertTakes(0);
  }
}
