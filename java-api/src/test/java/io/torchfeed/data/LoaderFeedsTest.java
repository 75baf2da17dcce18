// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Batching.LastBatch;
import io.torchfeed.sampler.FixedBatches;
import io.torchfeed.sampler.SequentialSampler;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a loader does with its feeds, which here only write down what they are told. */
class LoaderFeedsTest {
  private final List<String> calls = new ArrayList<>();
  private boolean heldUp;
  private int feeds;

  private final class Told implements Feed {
    private final int number = feeds++;

    private void note(String call) {
      calls.add(call + " " + number);
    }

    @Override
    public void pinFor(String device) {
      note("pin");
    }

    @Override
    public boolean rewind(long epoch) {
      note("rewind");
      return !heldUp;
    }

    @Override
    public void request(long batch, long[] indices, int size) {
      note("request");
    }

    @Override
    public void start() {}

    @Override
    public Gathered take(long due) {
      throw new IllegalStateException("nothing to take");
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
    Engine engine =
        new Engine() {
          @Override
          public Feed createFeed() {
            return new Told();
          }

          @Override
          public void close() {
            calls.add("close engine");
          }
        };
    FixedBatches plan = new FixedBatches(new SequentialSampler(40), 4, LastBatch.KEEP);
    return new DataLoader(
        engine, 40, plan, Prefetch.of(prefetch, prefetchBytes, 1), true, new LoaderMeter(1, false));
  }

  @Test
  void aFeedWaitsForTheNextPass() {
    try (DataLoader loader = loader(1, Long.MAX_VALUE)) {
      loader.epoch(0).close();
      loader.epoch(1).close();
    }
    assertThat(feeds).isEqualTo(1);
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
  void aFeedWhoseWorkersAreHeldUpIsLeftBehindAndReplaced() {
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
  void closingTellsAllPassesBeforeItWaitsForAny() {
    DataLoader loader = loader(1, Long.MAX_VALUE);
    loader.epoch(0);
    loader.epoch(0);
    Batches third = loader.epoch(0);
    third.close(); // and its feed idles
    calls.clear();
    loader.close();
    assertThat(calls.subList(0, 3))
        .containsExactlyInAnyOrder("interrupt 0", "interrupt 1", "interrupt 2");
    assertThat(calls.subList(3, 6)).containsExactlyInAnyOrder("close 0", "close 1", "close 2");
    assertThat(calls.subList(6, calls.size())).containsExactly("close engine");
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
  void batchesAheadAreBoundedInNumberAndInBytes() {
    assertThat(requestsAtTheStart(7, Long.MAX_VALUE)).isEqualTo(7);
    assertThat(requestsAtTheStart(7, 700)).isEqualTo(7);
    assertThat(requestsAtTheStart(7, 699)).isEqualTo(6);
    assertThat(requestsAtTheStart(7, 100)).isEqualTo(1);
    assertThat(requestsAtTheStart(7, 1)).as("a batch that is larger").isEqualTo(1);
  }
}
