// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.LongStream;
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

  @ParameterizedTest
  @CsvSource({"10, 4", "10, 3", "10, 2", "10, 1", "11, 4", "13, 3", "23, 5", "6, 8", "3, 2"})
  void anyRankOfTheLastStepMaySave(int samples, int batchSize) {
    try (RowData rows = RowData.samples(samples)) {
      Function<Integer, Sampler> plan =
          rank -> ShuffledSampler.of(samples, new Part(WORLD, rank), 7).withTail(Tail.UNEVEN);
      for (int step = 1; step <= (samples / WORLD + 1) / batchSize + 1; step++) {
        List<Long> before = new ArrayList<>();
        List<LoaderState> states = new ArrayList<>();
        for (int rank = 0; rank < WORLD; rank++) {
          try (DataLoader loader = loader(rows, plan.apply(rank), batchSize)) {
            LoaderState state = stateAfter(loader, step, before);
            if (loader.batches() >= step) {
              states.add(state);
            }
          }
        }
        for (LoaderState state : states) {
          for (int world : new int[] {WORLD, 3}) {
            List<Long> all = new ArrayList<>(before);
            for (int rank = 0; rank < world; rank++) {
              Sampler part =
                  ShuffledSampler.of(samples, new Part(world, rank), 7).withTail(Tail.UNEVEN);
              try (DataLoader loader = loader(rows, part, batchSize);
                  Batches rest = loader.resume(state)) {
                if (world == WORLD) {
                  assertThat(rest.state()).isEqualTo(state);
                }
                take(rest, Integer.MAX_VALUE, all);
              }
            }
            assertThat(all)
                .as("step %d, %s, %d ranks", step, state, world)
                .containsExactlyInAnyOrderElementsOf(LongStream.range(0, samples).boxed().toList());
          }
        }
      }
    }
  }
}
