// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

abstract class UnorderedContract {
  private static final int SIZE = 103;
  private static final int BATCH = 4;
  private static final int BATCHES = 26;

  private final IntFunction<RowData> engine;
  private RowData data;

  UnorderedContract(IntFunction<RowData> engine) {
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
        .sampler(ShuffledSampler.of(SIZE, 5))
        .batchSize(BATCH)
        .workers(workers)
        .inOrder(inOrder)
        .build();
  }

  private static void deliver(Batches batches, long most, NavigableMap<Long, long[]> into) {
    for (long i = 0; i < most && batches.hasNext(); i++) {
      Batch batch = batches.next();
      Rows.assertHolds(batch, batch.indices());
      assertThat(into.put(batch.number(), batch.indices())).as("before").isNull();
    }
  }

  private NavigableMap<Long, long[]> epochInOrder() {
    NavigableMap<Long, long[]> expected = new TreeMap<>();
    try (DataLoader loader = loader(1, true);
        Batches batches = loader.epoch(3)) {
      deliver(batches, Long.MAX_VALUE, expected);
    }
    assertThat(expected).hasSize(BATCHES);
    return expected;
  }

  private static List<Long> ahead(Batches batches) {
    return ((LoaderState.IndexState) batches.state()).deliveredAhead();
  }

  private static LoaderState with(LoaderState state, long... ahead) {
    return new LoaderState.IndexState(
        ((LoaderState.IndexState) state).sampler(), Arrays.stream(ahead).boxed().toList());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 5})
  void everyBatchIsDeliveredOnceUnderItsOwnNumber(int workers) {
    try (DataLoader loader = loader(workers, false)) {
      NavigableMap<Long, long[]> delivered = new TreeMap<>();
      try (Batches batches = loader.epoch(3)) {
        deliver(batches, Long.MAX_VALUE, delivered);
        assertThat(batches.position()).isEqualTo(BATCHES);
        assertThat(ahead(batches)).isEmpty();
      }
      assertSame(delivered, epochInOrder());
    }
  }

  private static void assertSame(
      NavigableMap<Long, long[]> actual, NavigableMap<Long, long[]> expected) {
    assertThat(actual.keySet()).isEqualTo(expected.keySet());
    expected.forEach((batch, indices) -> assertThat(actual.get(batch)).isEqualTo(indices));
  }

  @ParameterizedTest
  @CsvSource({"3,false", "2,true"})
  void aPassResumesExactlyWhereItStopped(int workers, boolean thenInOrder) {
    NavigableMap<Long, long[]> expected = epochInOrder();
    for (int most = 0; most <= BATCHES; most++) {
      NavigableMap<Long, long[]> delivered = new TreeMap<>();
      LoaderState state;
      try (DataLoader loader = loader(workers, false);
          Batches batches = loader.epoch(3)) {
        deliver(batches, most, delivered);
        state = batches.state();
        assertThat(batches.position() + ahead(batches).size()).isEqualTo(most);
      }
      try (DataLoader loader = loader(2, thenInOrder);
          Batches batches = loader.resume(LoaderState.fromJson(state.toJson()))) {
        deliver(batches, Long.MAX_VALUE, delivered); // fails on a batch delivered before
      }
      assertSame(delivered, expected);
    }
  }

  /** Any batches may have been delivered early, not only those that were in this run. */
  @Test
  void batchesDeliveredAheadAreNotRepeated() {
    NavigableMap<Long, long[]> expected = epochInOrder();
    long[][] cases = {
      {4}, {5, 6, 7}, {4, 6, 8, 10}, {25}, {24, 25}, LongStream.range(4, BATCHES).toArray()
    };
    for (long[] ahead : cases) {
      for (boolean inOrder : new boolean[] {true, false}) {
        try (DataLoader loader = loader(1, inOrder);
            Batches before = loader.epoch(3, 3);
            Batches batches = loader.resume(with(before.state(), ahead))) {
          NavigableMap<Long, long[]> delivered = new TreeMap<>();
          deliver(batches, Long.MAX_VALUE, delivered);
          NavigableMap<Long, long[]> rest = new TreeMap<>(expected.tailMap(3L));
          Arrays.stream(ahead).forEach(rest::remove);
          assertSame(delivered, rest);
          assertThat(batches.state().finished()).isTrue();
        }
      }
    }
  }

  @Test
  void aPassMayStopBeforeTheBatchesDeliveredAhead() {
    NavigableMap<Long, long[]> expected = epochInOrder();
    NavigableMap<Long, long[]> delivered = new TreeMap<>(expected.headMap(3L));
    long[] ahead = {5, 20, 25};
    Arrays.stream(ahead).forEach(batch -> delivered.put(batch, expected.get(batch)));
    try (DataLoader loader = loader(1, false)) {
      LoaderState state;
      try (Batches batches = loader.epoch(3, 3)) {
        state = with(batches.state(), ahead);
      }
      for (boolean isOver = false; !isOver; ) {
        try (Batches batches = loader.resume(state)) {
          deliver(batches, 2, delivered);
          isOver = !batches.hasNext();
          state = batches.state();
        }
      }
    }
    assertSame(delivered, expected);
  }

  @Test
  void impossibleBatchesDeliveredAheadAreRefused() {
    try (DataLoader loader = loader(1, false);
        Batches batches = loader.epoch(3, 3)) {
      LoaderState state = batches.state();
      for (long[] wrong : new long[][] {{3}, {2}, {26}, {6, 5}, {5, 5}}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> loader.resume(with(state, wrong)))
            .withMessageStartingWith("deliveredAhead must ascend in [4, 26), got ");
      }
    }
  }

  @Test
  void badIndicesFailOnlyTheirBatches() {
    long[] order = {0, 1, SIZE, 3, 4, 5, -1, 7, 8, 9};
    try (DataLoader loader =
            data.over().sampler(Rows.plan(10, order)).batchSize(2).inOrder(false).build();
        Batches batches = loader.epoch(0)) {
      List<Long> good = new ArrayList<>();
      List<Long> bad = new ArrayList<>();
      while (batches.hasNext()) {
        try {
          good.add(batches.next().number());
        } catch (SampleException e) {
          bad.add(e.batch());
        }
      }
      assertThat(good).containsExactlyInAnyOrder(0L, 2L, 4L);
      assertThat(bad).containsExactly(1L, 3L);
      assertThatExceptionOfType(java.util.NoSuchElementException.class).isThrownBy(batches::next);
    }
  }
}
