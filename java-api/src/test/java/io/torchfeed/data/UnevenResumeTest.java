// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of states of ranks that have fewer samples than others. */
class UnevenResumeTest {
  private static final int WORLD = 4;

  private static DataLoader loader(RowData rows, Sampler plan, int batchSize) {
    return rows.over().sampler(plan).batchSize(batchSize).workers(0).build();
  }

  private static void take(Batches batches, int most, List<Long> seen) {
    for (int i = 0; i < most && batches.hasNext(); i++) {
      for (long index : batches.next().indices()) {
        seen.add(index);
      }
    }
  }

  /** Returns the state of a rank after some batches, before it is asked whether there are more. */
  private static LoaderState stateAfter(DataLoader loader, int batches, List<Long> seen) {
    try (Batches pass = loader.epoch(0)) {
      long left = Math.min(batches, loader.batches());
      for (int i = 0; i < left; i++) {
        for (long index : pass.next().indices()) {
          seen.add(index);
        }
      }
      return pass.state();
    }
  }

  private static LoaderState.IndexState index(LoaderState state) {
    return (LoaderState.IndexState) state;
  }

  @ParameterizedTest
  @CsvSource({"10, 4", "10, 3", "10, 2", "10, 1", "11, 4", "13, 3", "23, 5", "6, 8", "3, 2"})
  void anyRankMaySaveUntilItsPartEndsBeforeOthers(int samples, int batchSize) {
    try (RowData rows = RowData.samples(samples)) {
      for (int step = 1; step <= (samples / WORLD + 1) / batchSize + 1; step++) {
        List<Long> before = new ArrayList<>();
        List<LoaderState> states = new ArrayList<>();
        List<Long> ends = new ArrayList<>();
        for (int rank = 0; rank < WORLD; rank++) {
          try (DataLoader loader = loader(rows, plan(samples, WORLD, rank), batchSize)) {
            states.add(stateAfter(loader, step, before));
            ends.add(loader.batches());
          }
        }
        for (int rank = 0; rank < WORLD; rank++) {
          LoaderState.IndexState state = index(states.get(rank));
          boolean ended = ends.get(rank) <= step && ends.get(rank) < ends.get(0);
          assertThat(state.sampler().partEnded())
              .as("step %d, rank %d", step, rank)
              .isEqualTo(ended);
          assertThat(LoaderState.fromJson(state.toJson())).isEqualTo(state);
          for (int world : new int[] {WORLD, 3}) {
            if (ended) {
              assertNothingComesTwice(rows, samples, state, world, batchSize);
            } else {
              assertAllComeOnce(rows, samples, state, world, batchSize, before);
            }
          }
        }
      }
    }
  }

  private static Sampler plan(int samples, int world, int rank) {
    return ShuffledSampler.of(samples, new Part(world, rank), 7).withTail(Tail.UNEVEN);
  }

  private static void assertAllComeOnce(
      RowData rows,
      int samples,
      LoaderState.IndexState state,
      int world,
      int batchSize,
      List<Long> before) {
    List<Long> all = new ArrayList<>(before);
    for (int rank = 0; rank < world; rank++) {
      try (DataLoader loader = loader(rows, plan(samples, world, rank), batchSize);
          Batches rest = loader.resume(state)) {
        if (world == WORLD) {
          assertThat(index(rest.state()).sampler().segments())
              .isEqualTo(state.sampler().segments());
        }
        take(rest, Integer.MAX_VALUE, all);
      }
    }
    assertThat(all)
        .as("%s, %d ranks", state, world)
        .containsExactlyInAnyOrderElementsOf(LongStream.range(0, samples).boxed().toList());
  }

  /** Requires that the state of a part that ended early is refused where anything is left. */
  private static void assertNothingComesTwice(
      RowData rows, int samples, LoaderState.IndexState state, int world, int batchSize) {
    int refused = 0;
    for (int rank = 0; rank < world; rank++) {
      try (DataLoader loader = loader(rows, plan(samples, world, rank), batchSize);
          Batches rest = loader.resume(state)) {
        assertThat(rest.hasNext()).as("%s, rank %d of %d", state, rank, world).isFalse();
      } catch (ResumeMismatchException e) {
        refused++;
        assertThat(e)
            .hasMessageContaining("resume from the state of a rank with the longest part")
            .extracting(ResumeMismatchException::parameter)
            .isEqualTo("partEnded");
      }
    }
    assertThat(refused).as("%s, %d ranks", state, world).isPositive();
  }

  @Test
  void aRankWithoutSamplesCannotSaveForOthers() {
    SamplerState nothing;
    try (var cursor = ResumableCursor.open(plan(2, 3, 2), 0)) {
      nothing = cursor.state();
    }
    assertThat(nothing.segments()).isEmpty();
    assertThatExceptionOfType(ResumeMismatchException.class)
        .isThrownBy(() -> nothing.resume(plan(2, 3, 0)));
    try (var rest = nothing.resume(plan(2, 3, 2))) {
      assertThat(rest.remaining()).isZero();
    }
  }

  @Test
  void theEndOfAnEpochIsEqualOnAllRanks() {
    try (RowData rows = RowData.samples(10)) {
      List<LoaderState> ends = new ArrayList<>();
      for (int rank = 0; rank < WORLD; rank++) {
        try (DataLoader loader = loader(rows, plan(10, WORLD, rank), 1);
            Batches pass = loader.epoch(0)) {
          take(pass, Integer.MAX_VALUE, new ArrayList<>());
          ends.add(pass.state());
        }
      }
      assertThat(ends).containsOnly(ends.get(0)).allMatch(LoaderState::finished);
    }
  }
}
