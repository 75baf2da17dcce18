// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.ResumeMismatchException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
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

  private StreamLoaderBuilder over(int batchSize, int workers) {
    return DataLoader.over(data).batchSize(batchSize).workers(workers);
  }

  @ParameterizedTest
  @CsvSource({"0,1", "0,4", "1,1", "1,4", "2,4", "4,1", "4,4", "4,100", "8,5"})
  void shardsTakeTurnsWhateverTheWorkers(int workers, int batchSize) {
    Counters.Feed alone;
    try (StreamLoader loader = over(batchSize, 0).build()) {
      alone = Counters.feed(loader.epoch(1));
    }
    try (StreamLoader loader = over(batchSize, workers).build()) {
      for (int i = 0; i < 3; i++) {
        Counters.Feed feed = Counters.feed(loader.epoch(1));
        assertThat(feed.values()).isEqualTo(data.expected(batchSize, 0, 1));
        assertThat(feed).isEqualTo(alone);
      }
      assertThat(Counters.feed(loader.epoch(2)).random()).isNotEqualTo(alone.random());
    }
  }

  @Test
  void indicesTellShardAndPlace() {
    try (StreamLoader loader = over(4, 2).build()) {
      Counters.Feed feed = Counters.feed(loader.epoch(0));
      for (int i = 0; i < feed.values().size(); i++) {
        List<Long> values = feed.values().get(i);
        for (int row = 0; row < values.size(); row++) {
          long value = values.get(row);
          assertThat(feed.indices().get(i).get(row)).isEqualTo(value % 1000 * 5 + value / 1000);
        }
      }
      assertThat(feed.random().stream().flatMap(List::stream)).doesNotHaveDuplicates();
    }
  }

  @Test
  void ranksShareOutTheShards() {
    for (int rank = 0; rank < 2; rank++) {
      try (StreamLoader loader = over(4, 2).rank(rank, 2).build()) {
        assertThat(loader.shards()).isEqualTo(rank == 0 ? List.of(0, 2, 4) : List.of(1, 3));
        assertThat(Counters.feed(loader.epoch(0)).values()).isEqualTo(data.expected(4, rank, 2));
      }
    }
  }

  @Test
  void batchesThatAreNotFullAreLeftOutOnRequest() {
    try (StreamLoader loader = over(4, 2).dropLast(true).build()) {
      List<List<Long>> expected = data.expected(4, 0, 1);
      expected.removeIf(batch -> batch.size() < 4);
      try (StreamBatches pass = loader.epoch(0)) {
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
  void aPassIsResumedAtEachBatchWithOtherWorkers(int before, int after, boolean looks) {
    List<List<Long>> all = data.expected(4, 0, 1);
    try (StreamLoader first = over(4, before).build();
        StreamLoader second = over(4, after).build()) {
      Counters.Feed whole = Counters.feed(first.epoch(7));
      for (int taken = 0; taken <= all.size(); taken++) {
        StreamState state;
        try (StreamBatches pass = first.epoch(7)) {
          for (int i = 0; i < taken; i++) {
            pass.next();
          }
          if (looks && taken < all.size()) {
            assertThat(pass.hasNext()).isTrue();
          }
          state = StreamState.fromJson(pass.state().toJson());
          assertThat(state).isEqualTo(pass.state());
        }
        assertThat(state.batches()).isEqualTo(taken);
        Counters.Feed rest = Counters.feed(second.resume(state));
        assertThat(rest.values()).isEqualTo(all.subList(taken, all.size()));
        assertThat(rest.random()).isEqualTo(whole.random().subList(taken, all.size()));
        try (StreamBatches resumed = second.resume(state)) {
          assertThat(resumed.state()).isEqualTo(state);
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"1,2", "2,1", "2,3", "3,2", "5,2", "2,5", "2,2"})
  void whatIsLeftIsDividedOverOtherRanksAndBatches(int ranks, int otherRanks) {
    for (int steps = 0; steps < 8; steps++) {
      List<Long> seen = new ArrayList<>();
      List<StreamState> states = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        try (StreamLoader loader = over(4, 2).rank(rank, ranks).build();
            StreamBatches pass = loader.epoch(0)) {
          for (int i = 0; i < steps + rank && pass.hasNext(); i++) {
            seen.addAll(Counters.longs(pass.next(), 0));
          }
          states.add(0, pass.state());
        }
      }
      boolean isOver = states.stream().allMatch(StreamState::finished);
      for (int rank = 0; rank < otherRanks; rank++) {
        try (StreamLoader loader = over(3, 1).rank(rank, otherRanks).build()) {
          List<List<Long>> rest = Counters.feed(loader.resume(states)).values();
          if (isOver) {
            assertThat(rest).isEqualTo(data.expected(3, rank, otherRanks));
          } else {
            rest.forEach(seen::addAll);
          }
        }
      }
      List<Long> all = data.expected(100, 0, 1).stream().flatMap(List::stream).toList();
      assertThat(seen).containsExactlyInAnyOrderElementsOf(all);
    }
  }

  @Test
  void afterTheEndComesTheNextEpoch() {
    try (StreamLoader loader = over(100, 1).build()) {
      StreamState state;
      try (StreamBatches pass = loader.epoch(4)) {
        for (int i = 0; i < 4; i++) {
          pass.next();
        }
        assertThat(pass.state().finished()).isFalse();
        assertThatThrownBy(pass::next)
            .isInstanceOf(NoSuchElementException.class)
            .hasMessage("epoch 4 has 4 batches for this rank");
        state = StreamState.fromJson(pass.state().toJson());
      }
      assertThat(state.finished()).isTrue();
      assertThat(Counters.feed(loader.resume(state))).isEqualTo(Counters.feed(loader.epoch(5)));
    }
  }

  @Test
  void aLookAheadLeavesTheBatchAlone() {
    try (StreamLoader loader = over(3, 2).build();
        StreamBatches pass = loader.epoch(0)) {
      for (List<Long> expected : data.expected(3, 0, 1)) {
        assertThat(pass.hasNext()).isTrue();
        Batch batch = pass.next();
        boolean isLast = !pass.hasNext();
        assertThat(isLast).isEqualTo(pass.position() == data.expected(3, 0, 1).size());
        assertThat(Counters.longs(batch, 0)).isEqualTo(expected);
        assertThat(batch.isPadding(0)).isFalse();
      }
      assertThat(pass.hasNext()).isFalse();
    }
  }

  @Test
  void passesRunSideBySide() {
    try (StreamLoader loader = over(3, 2).build();
        StreamBatches first = loader.epoch(0);
        StreamBatches second = loader.epoch(0);
        StreamBatches third = loader.epoch(1)) {
      first.next();
      for (List<Long> expected : data.expected(3, 0, 1)) {
        assertThat(Counters.longs(second.next(), 0)).isEqualTo(expected);
        assertThat(Counters.longs(third.next(), 0)).isEqualTo(expected);
      }
    }
  }

  @Test
  void aKeptBatchOutlivesItsPass() {
    Batch kept;
    try (StreamLoader loader = over(3, 2).build();
        StreamBatches pass = loader.epoch(0)) {
      Batch batch = pass.next();
      kept = batch.keep();
      pass.next();
      assertThatIllegalStateException().isThrownBy(() -> batch.tensor(0));
    }
    assertThat(Counters.longs(kept, 0)).containsExactly(0L, 1L, 2L);
    kept.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void epochsMayBeLeftEarly(int workers) {
    Random random = new Random(3);
    try (StreamLoader loader = over(4, workers).build()) {
      for (int i = 0; i < 1000; i++) {
        try (StreamBatches pass = loader.epoch(i)) {
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
    for (int round = 0; round < 200; round++) {
      StreamLoader loader = over(4, workers).build();
      AtomicReference<Throwable> end = new AtomicReference<>();
      Thread consumer =
          new Thread(
              () -> {
                try {
                  for (long epoch = 0; ; epoch++) {
                    Counters.feed(loader.epoch(epoch));
                  }
                } catch (Throwable e) {
                  end.set(e);
                }
              });
      consumer.start();
      LockSupport.parkNanos(round * 10_000L); // anywhere from its start to some epochs later
      loader.close();
      consumer.join(30_000);
      assertThat(consumer.isAlive()).isFalse();
      assertThat(end.get())
          .isInstanceOf(IllegalStateException.class)
          .satisfiesAnyOf(
              e -> assertThat(e).hasMessageContaining("closed"),
              e -> assertThat(e).hasMessageContaining("ended")); // the batch, while it was read
    }
  }

  @Test
  void closingTwiceIsSilentAndUseAfterwardsIsNot() {
    StreamLoader loader = over(4, 1).build();
    StreamBatches pass = loader.epoch(0);
    Batch batch = pass.next();
    loader.close();
    loader.close();
    assertThatIllegalStateException()
        .isThrownBy(pass::next)
        .withMessage("the pass over epoch 0 is closed");
    assertThatIllegalStateException().isThrownBy(pass::hasNext);
    assertThatIllegalStateException().isThrownBy(pass::state);
    assertThatIllegalStateException().isThrownBy(() -> batch.tensor(0));
    pass.close();
    pass.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> loader.epoch(0))
        .withMessage("StreamLoader is closed");
  }

  @Test
  void statesOfOtherDataOrRanksAreRefused() {
    Counters more = Counters.of(1, 2, 3);
    StreamState state;
    try (StreamLoader loader = over(4, 1).rank(1, 2).build();
        StreamBatches pass = loader.epoch(0)) {
      pass.next();
      state = pass.state();
    }
    try (StreamLoader other = DataLoader.over(more).build()) {
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> other.resume(state))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("shards"));
    }
    try (StreamLoader all = over(4, 1).build()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> all.resume(state))
          .withMessageContaining("got none of shard 0; give those of all ranks");
      assertThatIllegalArgumentException().isThrownBy(() -> all.resume(List.of()));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> all.resume(List.of(state, state)))
          .withMessageContaining("got shard 1 twice");
      assertThatIllegalArgumentException().isThrownBy(() -> all.epoch(-1));
    }
    assertThatIllegalArgumentException().isThrownBy(() -> StreamState.fromJson("{}"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StreamState.fromJson(state.toJson().replace("\"next\"", "\"nest\"")));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StreamState.fromJson(state.toJson().replace(":1,", ":99,")));
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                StreamState.fromJson(
                    state.toJson().replaceFirst("\"shards\":\\d+", "\"shards\":5000000000")))
        .withMessageContaining("shards of a stream state must be an int, got 5000000000");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                StreamState.fromJson(
                    state.toJson().replace("\"parameters\":{}", "\"parameters\":{\"x\":1}")))
        .withMessageContaining("parameters must be texts");
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> over(4, 1).rank(0, 6))
        .withMessageContaining("worldSize must be in [1, 5]");
    assertThatIllegalArgumentException().isThrownBy(() -> over(4, 1).rank(2, 2));
    assertThatIllegalArgumentException().isThrownBy(() -> over(0, 1).build());
    assertThatIllegalArgumentException().isThrownBy(() -> over(1, -1).build());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> over(1, 0).timeout(Duration.ofSeconds(1)).build())
        .withMessageContaining("need workers");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> over(1, 1).timeout(Duration.ZERO).build());
    assertThatIllegalStateException().isThrownBy(() -> over(1, 1).batchSize(2));
    assertThatIllegalArgumentException().isThrownBy(() -> DataLoader.over(Counters.of()));
  }
}
