// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.Counters;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumeMismatchException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class StreamLoaderTest {
  private final Counters data = Counters.of(10, 0, 7, 21, 3);

  @AfterEach
  void allStreamsAreClosed() {
    assertThat(data.open()).hasValue(0);
  }

  DataLoaderBuilder over(int batchSize, int workers) {
    return DataLoader.over(data).batchSize(batchSize).workers(workers);
  }

  @ParameterizedTest
  @CsvSource({"0,1", "0,4", "1,1", "1,4", "2,4", "4,1", "4,4", "4,100", "8,5"})
  void shardsTakeTurnsForAnyNumberOfWorkers(int workers, int batchSize) {
    Counters.Delivered alone;
    try (DataLoader loader = over(batchSize, 0).build()) {
      alone = Counters.delivered(loader.epoch(1));
    }
    try (DataLoader loader = over(batchSize, workers).build()) {
      for (int i = 0; i < 3; i++) {
        Counters.Delivered delivered = Counters.delivered(loader.epoch(1));
        assertThat(delivered.values()).isEqualTo(data.expected(batchSize, Part.whole()));
        assertThat(delivered).isEqualTo(alone);
      }
      assertThat(Counters.delivered(loader.epoch(2)).random()).isNotEqualTo(alone.random());
    }
  }

  @Test
  void indicesIdentifyShardAndPosition() {
    try (DataLoader loader = over(4, 2).build()) {
      Counters.Delivered delivered = Counters.delivered(loader.epoch(0));
      for (int i = 0; i < delivered.values().size(); i++) {
        List<Long> values = delivered.values().get(i);
        for (int row = 0; row < values.size(); row++) {
          long value = values.get(row);
          assertThat(delivered.indices().get(i).get(row))
              .isEqualTo(value % 1000 * 5 + value / 1000);
        }
      }
      assertThat(delivered.random().stream().flatMap(List::stream)).doesNotHaveDuplicates();
    }
  }

  @Test
  void aBatchThatOvertakesAnotherHasItsOwnIndices() {
    CountDownLatch overtaken = new CountDownLatch(1);
    Counters slow =
        Counters.with(
            (value, place) -> {
              if (value == 0) {
                assertThat(overtaken.await(30, TimeUnit.SECONDS)).isTrue();
              }
            },
            4,
            6);
    List<Long> all = new ArrayList<>();
    try (DataLoader loader = DataLoader.over(slow).batchSize(2).workers(2).inOrder(false).build()) {
      for (Batch batch : loader.epoch(0)) {
        List<Long> values = Counters.longs(batch, 0);
        assertThat(batch.indices())
            .containsExactly(
                values.stream().mapToLong(value -> value % 1000 * 2 + value / 1000).toArray());
        all.addAll(values);
        overtaken.countDown();
      }
    }
    assertThat(all)
        .startsWith(1000L)
        .containsExactlyInAnyOrder(0L, 1L, 2L, 3L, 1000L, 1001L, 1002L, 1003L, 1004L, 1005L);
  }

  @Test
  void shardsAreDividedAmongTheRanks() {
    for (int rank = 0; rank < 2; rank++) {
      try (DataLoader loader = over(4, 2).part(new Part(2, rank)).build()) {
        try (Batches pass = loader.epoch(0)) {
          assertThat(
                  ((LoaderState.StreamState) pass.state())
                      .positions().stream().map(LoaderState.ShardPosition::shard))
              .isEqualTo(rank == 0 ? List.of(0, 2, 4) : List.of(1, 3));
        }
        assertThat(Counters.delivered(loader.epoch(0)).values())
            .isEqualTo(data.expected(4, new Part(2, rank)));
      }
    }
  }

  @Test
  void incompleteBatchesAreDroppedOnRequest() {
    try (DataLoader loader = over(4, 2).dropLast(true).build()) {
      List<List<Long>> expected = data.expected(4, Part.whole());
      expected.removeIf(batch -> batch.size() < 4);
      try (Batches pass = loader.epoch(0)) {
        List<List<Long>> values = new ArrayList<>();
        while (pass.hasNext()) {
          values.add(Counters.longs(pass.next(), 0));
        }
        assertThat(values).isEqualTo(expected);
        assertThat(pass.state().finished()).isTrue();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"0,2,false", "2,0,true", "3,1,false"})
  void aPassResumesAtEachBatchWithOtherWorkers(int before, int after, boolean looks) {
    List<List<Long>> all = data.expected(4, Part.whole());
    try (DataLoader first = over(4, before).build();
        DataLoader second = over(4, after).build()) {
      Counters.Delivered whole = Counters.delivered(first.epoch(7));
      for (int taken = 0; taken <= all.size(); taken++) {
        LoaderState state;
        try (Batches pass = first.epoch(7)) {
          for (int i = 0; i < taken; i++) {
            pass.next();
          }
          if (looks && taken < all.size()) {
            assertThat(pass.hasNext()).isTrue();
          }
          state = LoaderState.fromJson(pass.state().toJson());
          assertThat(state).isEqualTo(pass.state());
        }
        assertThat(((LoaderState.StreamState) state).batches()).isEqualTo(taken);
        Counters.Delivered rest = Counters.delivered(second.resume(state));
        assertThat(rest.values()).isEqualTo(all.subList(taken, all.size()));
        assertThat(rest.random()).isEqualTo(whole.random().subList(taken, all.size()));
        try (Batches resumed = second.resume(state)) {
          assertThat(resumed.state()).isEqualTo(state);
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"1,2", "2,1", "2,3", "3,2", "5,2", "2,5", "2,2"})
  void theRemainderIsDividedOverOtherRanksAndBatchSizes(int ranks, int otherRanks) {
    for (int steps = 0; steps < 8; steps++) {
      List<Long> seen = new ArrayList<>();
      List<LoaderState> states = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        try (DataLoader loader = over(4, 2).part(new Part(ranks, rank)).build();
            Batches pass = loader.epoch(0)) {
          for (int i = 0; i < steps + rank && pass.hasNext(); i++) {
            seen.addAll(Counters.longs(pass.next(), 0));
          }
          states.add(0, pass.state());
        }
      }
      boolean isOver = states.stream().allMatch(LoaderState::finished);
      for (int rank = 0; rank < otherRanks; rank++) {
        try (DataLoader loader = over(3, 1).part(new Part(otherRanks, rank)).build()) {
          List<List<Long>> rest = Counters.delivered(loader.resume(states)).values();
          if (isOver) {
            assertThat(rest).isEqualTo(data.expected(3, new Part(otherRanks, rank)));
          } else {
            rest.forEach(seen::addAll);
          }
        }
      }
      List<Long> all = data.expected(100, Part.whole()).stream().flatMap(List::stream).toList();
      assertThat(seen).containsExactlyInAnyOrderElementsOf(all);
    }
  }

  @Test
  void aFinishedEpochResumesAtTheNextOne() {
    try (DataLoader loader = over(100, 1).build()) {
      LoaderState state;
      try (Batches pass = loader.epoch(4)) {
        for (int i = 0; i < 4; i++) {
          pass.next();
        }
        assertThat(pass.state().finished()).isFalse();
        assertThatThrownBy(pass::next)
            .isInstanceOf(NoSuchElementException.class)
            .hasMessage("epoch 4 has 4 batches for this rank");
        state = LoaderState.fromJson(pass.state().toJson());
      }
      assertThat(state.finished()).isTrue();
      assertThat(Counters.delivered(loader.resume(state)))
          .isEqualTo(Counters.delivered(loader.epoch(5)));
    }
  }

  @Test
  void hasNextDoesNotAffectTheCurrentBatch() {
    try (DataLoader loader = over(3, 2).build();
        Batches pass = loader.epoch(0)) {
      for (List<Long> expected : data.expected(3, Part.whole())) {
        assertThat(pass.hasNext()).isTrue();
        Batch batch = pass.next();
        boolean isLast = pass.position() == data.expected(3, Part.whole()).size();
        if (!isLast) { // the end of the pass closes the last batch
          assertThat(pass.hasNext()).isTrue();
        }
        assertThat(Counters.longs(batch, 0)).isEqualTo(expected);
        assertThat(batch.isPadding(0)).isFalse();
      }
      assertThat(pass.hasNext()).isFalse();
    }
  }

  @Test
  void passesRunConcurrently() {
    try (DataLoader loader = over(3, 2).build();
        Batches first = loader.epoch(0);
        Batches second = loader.epoch(0);
        Batches third = loader.epoch(1)) {
      first.next();
      for (List<Long> expected : data.expected(3, Part.whole())) {
        assertThat(Counters.longs(second.next(), 0)).isEqualTo(expected);
        assertThat(Counters.longs(third.next(), 0)).isEqualTo(expected);
      }
    }
  }

  @Test
  void aKeptBatchOutlivesItsPass() {
    Batch kept;
    try (DataLoader loader = over(3, 2).build();
        Batches pass = loader.epoch(0)) {
      Batch batch = pass.next();
      kept = batch.keep();
      pass.next();
      assertThatIllegalStateException().isThrownBy(() -> batch.tensor(0));
    }
    assertThat(Counters.longs(kept, 0)).containsExactly(0L, 1L, 2L);
    kept.close();
  }

  int manyRounds() {
    return 200;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void epochsMayBeAbandoned(int workers) {
    Random random = new Random(3);
    try (DataLoader loader = over(4, workers).build()) {
      for (int i = 0; i < 5 * manyRounds(); i++) {
        try (Batches pass = loader.epoch(i)) {
          for (int taken = random.nextInt(12); taken > 0; taken--) {
            pass.next();
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void closingFromAnotherThreadEndsTheConsumerWithAnException(int workers) throws Exception {
    for (int round = 0; round < manyRounds(); round++) {
      DataLoader loader = over(4, workers).build();
      AtomicReference<Throwable> end = new AtomicReference<>();
      Thread consumer =
          new Thread(
              () -> {
                try {
                  for (long epoch = 0; ; epoch++) {
                    Counters.delivered(loader.epoch(epoch));
                  }
                } catch (Throwable e) {
                  end.set(e);
                }
              });
      consumer.start();
      // from its start to several epochs later
      LockSupport.parkNanos(round * 2_000_000L / manyRounds());
      loader.close();
      consumer.join(30_000);
      assertThat(consumer.isAlive()).isFalse();
      assertThat(end.get())
          .isInstanceOf(IllegalStateException.class)
          .satisfiesAnyOf(
              e -> assertThat(e).hasMessageContaining("closed"),
              e -> assertThat(e).hasMessageContaining("ended")); // the batch, while being read
    }
  }

  @Test
  void closingTwiceIsSilentAndUseAfterCloseFails() {
    DataLoader loader = over(4, 1).build();
    Batches pass = loader.epoch(0);
    Batch batch = pass.next();
    loader.close();
    loader.close();
    assertThatIllegalStateException()
        .isThrownBy(pass::next)
        .withMessage("the pass over epoch 0, from batch 0 on, is closed");
    assertThatIllegalStateException().isThrownBy(pass::hasNext);
    assertThatIllegalStateException().isThrownBy(pass::state);
    assertThatIllegalStateException().isThrownBy(() -> batch.tensor(0));
    pass.close();
    pass.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> loader.epoch(0))
        .withMessage("DataLoader is closed");
  }

  @Test
  void statesOfOtherDatasetsOrRanksAreRefused() {
    Counters more = Counters.of(1, 2, 3);
    LoaderState state;
    try (DataLoader loader = over(4, 1).part(new Part(2, 1)).build();
        Batches pass = loader.epoch(0)) {
      pass.next();
      state = pass.state();
    }
    try (DataLoader other = DataLoader.over(more).build()) {
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> other.resume(state))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("shards"));
    }
    try (DataLoader all = over(4, 1).build()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> all.resume(state))
          .withMessageContaining("shard 0 is missing; pass the states of all ranks");
      assertThatIllegalArgumentException().isThrownBy(() -> all.resume(List.of()));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> all.resume(List.of(state, state)))
          .withMessageContaining("got shard 1 twice");
      assertThatIllegalArgumentException().isThrownBy(() -> all.epoch(-1));
    }
    assertThatIllegalArgumentException().isThrownBy(() -> LoaderState.StreamState.fromJson("{}"));
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> LoaderState.StreamState.fromJson(state.toJson().replace("\"next\"", "\"nest\"")));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LoaderState.StreamState.fromJson(state.toJson().replace(":1,", ":99,")));
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                LoaderState.StreamState.fromJson(
                    state.toJson().replaceFirst("\"shards\":\\d+", "\"shards\":5000000000")))
        .withMessageContaining("shards of a stream state must have an int, got 5000000000");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                LoaderState.StreamState.fromJson(
                    state.toJson().replace("\"parameters\":{}", "\"parameters\":{\"x\":1}")))
        .withMessageContaining("of a stream state must have a string");
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> over(4, 1).part(new Part(6, 0)))
        .withMessageContaining("worldSize must be in [1, 5]");
    assertThatIllegalStateException()
        .isThrownBy(() -> over(4, 1).part(new Part(2, 1)).part(Part.whole()))
        .withMessage("part was already set to rank 1 of 2");
    assertThatIllegalArgumentException().isThrownBy(() -> over(0, 1).build());
    assertThatIllegalArgumentException().isThrownBy(() -> over(1, -1).build());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> over(1, 0).timeout(Duration.ofSeconds(1)).build())
        .withMessageContaining("timeout needs workers");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> over(1, 1).timeout(Duration.ZERO).build());
    assertThatIllegalStateException().isThrownBy(() -> over(1, 1).batchSize(2));
    assertThatIllegalArgumentException().isThrownBy(() -> DataLoader.over(Counters.of()));
  }
}
