// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.membership.World;
import io.torchfeed.elastic.ElasticThreads.Meeting;
import io.torchfeed.elastic.ElasticThreads.Rank;
import io.torchfeed.elastic.ElasticThreads.UserException;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests that generations are noted, and run again with equal bits. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GenerationsTest {
  private static final int LOST_AT = 3;

  private final Path folder;

  GenerationsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Rank rank(ElasticThreads threads, String name, Generations generations) {
    Rank rank = threads.new Rank(name);
    rank.ranks = own -> own.withGenerations(generations);
    return rank;
  }

  /** Trains with three ranks, loses one, and returns the final state of the others. */
  private String train(int kept) throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 3);
        Generations ofA = Generations.open(folder, kept);
        Generations ofB = Generations.open(folder, kept);
        Generations ofC = Generations.open(folder, kept)) {
      Rank a = rank(threads, "a", ofA);
      Rank b = rank(threads, "b", ofB);
      Rank c = rank(threads, "c", ofC);
      Meeting lost = new Meeting(LOST_AT, 2);
      a.before = step -> lost.in(step, a.name);
      b.before = step -> lost.in(step, b.name);
      c.before =
          step -> {
            if (step == LOST_AT) {
              lost.await();
              throw new UserException();
            }
          };
      List<Future<Outcome>> all = List.of(a.start(), b.start(), c.start());
      assertThat(all.get(0).get()).isEqualTo(Outcome.COMPLETED);
      assertThat(all.get(1).get()).isEqualTo(Outcome.COMPLETED);
      assertThatThrownBy(all.get(2)::get).hasCauseInstanceOf(UserException.class);
      assertThat(a.digest).isEqualTo(b.digest);
      return a.digest;
    }
  }

  @Test
  void aGenerationThatIsRunAgainEndsWithTheSameBits() throws Exception {
    String end = train(5);
    List<Generation> noted;
    try (Generations generations = Generations.open(folder, 1)) {
      noted = generations.all();
    }
    assertThat(noted).extracting(Generation::name).containsExactly("1.1", "1.2");
    assertThat(noted).extracting(Generation::ranks).containsExactly(3, 2);
    assertThat(noted).extracting(Generation::step).containsExactly(0L, (long) LOST_AT);
    assertThat(noted)
        .extracting(Generation::samples)
        .containsExactly(0L, (long) LOST_AT * ElasticNet.GLOBAL_BATCH);
    assertThat(noted)
        .extracting(Generation::origin)
        .containsExactly(World.Origin.START, World.Origin.RANK_ZERO);
    assertThat(noted).allMatch(each -> each.state().isPresent());
    assertThat(again("1.2", 2)).containsExactly(end, end);
    try (Generations generations = Generations.open(folder, 1)) {
      assertThat(generations.all()).isEqualTo(noted);
    }
  }

  /** Returns the final states of fresh ranks. */
  private List<String> again(String name, int ranks) throws Exception {
    try (ElasticThreads threads = new ElasticThreads(ranks, ranks);
        Generations generations = Generations.open(folder, 1)) {
      List<Rank> all = new ArrayList<>();
      List<Future<Outcome>> ends = new ArrayList<>();
      for (int i = 0; i < ranks; i++) {
        Rank rank = threads.new Rank("x" + i);
        rank.ranks = own -> own.withGenerations(generations).withFromGeneration(name);
        all.add(rank);
        ends.add(rank.start());
      }
      for (Future<Outcome> each : ends) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      return all.stream().map(rank -> rank.digest).toList();
    }
  }

  @Test
  void aJobThatIsStartedAgainIsTheNextRunAndStatesAreDeleted() throws Exception {
    train(2);
    train(2);
    try (Generations generations = Generations.open(folder, 1)) {
      assertThat(generations.all())
          .extracting(Generation::name)
          .containsExactly("1.1", "1.2", "2.1", "2.2");
      assertThat(generations.all())
          .extracting(each -> each.state().isPresent())
          .containsExactly(false, false, true, true);
      assertThat(generations.find("2").name()).isEqualTo("2.2");
      assertThatThrownBy(() -> generations.find("1.2"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("is not there, only the states of [2.1, 2.2]");
    }
  }

  @Test
  void anotherNumberOfRanksIsRefused() throws Exception {
    train(2);
    assertThatThrownBy(() -> again("1", 1)) // one of several might wait for a refused one
        .isInstanceOf(ExecutionException.class)
        .cause()
        .hasMessage("generation 1.1 had 3 ranks, got 1 to run it again");
  }

  @Test
  void aFolderWithoutGenerationsAndAMalformedNoteAreNamed() throws Exception {
    try (Generations generations = Generations.open(folder.resolve("none"), 1)) {
      assertThat(generations.all()).isEmpty();
    }
    Path own = Files.createDirectories(folder.resolve("generation-1.1"));
    Files.writeString(own.resolve("generation.json"), "{\"version\":1}");
    try (Generations generations = Generations.open(folder, 1)) {
      assertThatThrownBy(generations::all)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("the note of generation-1.1 lacks the field run");
    }
    assertThatThrownBy(() -> Generations.open(folder, 0))
        .hasMessage("at least 1 state must be kept, got 0");
  }
}
