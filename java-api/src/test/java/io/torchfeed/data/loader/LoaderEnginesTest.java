// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.BatchEngineFactory;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.pass.IndexSource;
import io.torchfeed.data.pass.LoaderCore;
import io.torchfeed.data.pass.Prefetch;
import io.torchfeed.data.task.BatchRequest;
import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.internal.ColumnNames;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of how a loader uses its engines, here with engines that only record the calls. */
class LoaderEnginesTest {
  private final List<String> calls = new ArrayList<>();
  private boolean heldUp;
  private boolean inOrder = true;
  private @Nullable OutOfMemoryError failure;
  private int engines;

  private final class RecordingEngine implements BatchEngine {
    private final int number = engines++;

    private void note(String call) {
      calls.add(call + " " + number);
    }

    @Override
    public void pinFor(String device, boolean once) {
      note("pin");
    }

    @Override
    public boolean rewind(long epoch) {
      note("rewind");
      return !heldUp;
    }

    @Override
    public void request(BatchRequest request) {
      note("request");
    }

    @Override
    public void start() {}

    @Override
    public LoadedBatch take(long due) {
      if (failure != null) {
        OutOfMemoryError once = failure;
        failure = null;
        throw once;
      }
      return LoadedBatch.failed(due, new IllegalStateException("no rows"));
    }

    @Override
    public long dropIfNothing(long due) {
      return NO_REQUEST;
    }

    @Override
    public int ready() {
      return 0;
    }

    @Override
    public boolean isReady() {
      return false;
    }

    @Override
    public long slabBytes() {
      return 100;
    }

    @Override
    public void interrupt() {
      note("interrupt");
    }

    @Override
    public void close() {
      note("close");
    }
  }

  private DataLoader loader(int prefetch, long prefetchBytes) {
    BatchEngineFactory factory =
        new BatchEngineFactory(RecordingEngine::new, () -> calls.add("close engine"));
    FixedSizeBatchSampler plan = FixedSizeBatchSampler.of(SequentialSampler.of(40), 4);
    return new DataLoader(
        new LoaderCore(
            factory,
            new IndexSource(plan, 40, inOrder),
            Prefetch.of(prefetch, prefetchBytes, 1),
            new LoaderMeter(1, false)),
        null,
        0,
        ColumnNames.of(List.of()),
        null);
  }

  @Test
  void anIdleEngineIsReusedByTheNextPass() {
    try (DataLoader loader = loader(1, Long.MAX_VALUE)) {
      loader.epoch(0).close();
      loader.epoch(1).close();
    }
    assertThat(engines).isEqualTo(1);
    assertThat(calls)
        .containsExactly(
            "rewind 0",
            "request 0",
            "interrupt 0",
            "rewind 0",
            "rewind 0",
            "request 0",
            "interrupt 0",
            "rewind 0",
            "interrupt 0",
            "close 0",
            "close engine");
  }

  @Test
  void aEngineWithStalledWorkersIsAbandonedAndReplaced() {
    try (DataLoader loader = loader(1, Long.MAX_VALUE)) {
      Batches held = loader.epoch(0);
      heldUp = true;
      held.close();
      heldUp = false;
      assertThat(calls).endsWith("interrupt 0", "rewind 0", "close 0");
      loader.epoch(1).close();
      assertThat(calls).endsWith("rewind 1", "request 1", "interrupt 1", "rewind 1");
    }
  }

  @Test
  void closingInterruptsAllPassesBeforeWaitingForAny() {
    DataLoader loader = loader(1, Long.MAX_VALUE);
    loader.epoch(0);
    loader.epoch(0);
    Batches third = loader.epoch(0);
    third.close(); // leaves an idle engine
    calls.clear();
    loader.close();
    assertThat(calls.subList(0, 3))
        .containsExactlyInAnyOrder("interrupt 0", "interrupt 1", "interrupt 2");
    assertThat(calls.subList(3, 6)).containsExactlyInAnyOrder("close 0", "close 1", "close 2");
    assertThat(calls.subList(6, calls.size())).containsExactly("close engine");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFailingTakeLosesNoBatch(boolean keepsOrder) {
    inOrder = keepsOrder;
    try (DataLoader loader = loader(1, Long.MAX_VALUE);
        Batches batches = loader.epoch(0)) {
      int taken = 0;
      for (; batches.hasNext(); taken++) {
        failure = new OutOfMemoryError("full");
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(batches::next);
        assertThat(batches.position()).isEqualTo(taken);
        assertThatIllegalStateException().isThrownBy(batches::next).withMessage("no rows");
      }
      assertThat(taken).isEqualTo(10);
    }
  }

  private long requestsAtTheStart(int prefetch, long prefetchBytes) {
    calls.clear();
    try (DataLoader loader = loader(prefetch, prefetchBytes);
        Batches batches = loader.epoch(0)) {
      assertThat(batches.hasNext()).isTrue();
      return calls.stream().filter(call -> call.startsWith("request")).count();
    }
  }

  @Test
  void prefetchIsBoundedInBatchesAndBytes() {
    assertThat(requestsAtTheStart(7, Long.MAX_VALUE)).isEqualTo(7);
    assertThat(requestsAtTheStart(7, 700)).isEqualTo(7);
    assertThat(requestsAtTheStart(7, 699)).isEqualTo(6);
    assertThat(requestsAtTheStart(7, 100)).isEqualTo(1);
    assertThat(requestsAtTheStart(7, 1)).as("a batch that is larger").isEqualTo(1);
  }
}
