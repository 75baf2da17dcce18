// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.membership.World.Origin;
import io.torchfeed.examples.mnist.faults.RankLog.Begun;
import io.torchfeed.examples.mnist.faults.RankLog.Done;
import io.torchfeed.examples.mnist.faults.RankLog.End;
import io.torchfeed.examples.mnist.faults.RankLog.Ended;
import io.torchfeed.examples.mnist.faults.RankLog.Entered;
import io.torchfeed.examples.mnist.faults.RankLog.Event;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * A training of 8 samples and one epoch: ranks a and b complete step 0, b is killed in step 1, and
 * a and c share the rest.
 */
class VerdictTest {
  private static final long EVERY_STEPS = 1;

  private final Map<String, List<Event>> logs = new LinkedHashMap<>();

  VerdictTest() {
    enter(1, 0, Origin.START, 100, "a", "b");
    step("a", 1, 0, 0L, 1L);
    step("b", 1, 0, 2L, 3L);
    begin("a", 1, 1, 4L, 5L);
    begin("b", 1, 1, 6L, 7L);
    enter(2, 1, Origin.RANK_ZERO, 101, "a", "c");
    step("a", 2, 1, 4L, 6L);
    step("c", 2, 1, 5L, 7L);
    end("a");
    end("c");
  }

  private List<Event> log(String name) {
    return logs.computeIfAbsent(name, any -> new ArrayList<>());
  }

  private void enter(int generation, long step, Origin origin, long digest, String... names) {
    for (int rank = 0; rank < names.length; rank++) {
      log(names[rank]).add(new Entered(0, generation, step, rank, names.length, origin, digest));
    }
  }

  private void begin(String name, int generation, long step, Long... indices) {
    log(name).add(new Begun(0, generation, step, 0, step, List.of(indices), 0));
  }

  private void step(String name, int generation, long step, Long... indices) {
    begin(name, generation, step, indices);
    log(name).add(new Done(0, generation, step, 101 + step));
  }

  private void end(String name) {
    log(name).add(new Ended(0, End.COMPLETED, ""));
  }

  private void replace(String name, int at, Event event) {
    log(name).set(at, event);
  }

  private Verdict verdict() {
    return Verdict.of(
        logs.entrySet().stream().map(each -> new RankLog(each.getKey(), each.getValue())).toList(),
        8,
        1,
        EVERY_STEPS);
  }

  private List<String> faults() {
    return verdict().faults();
  }

  @Test
  void aStepThatAFaultHasCutOffDoesNotCount() {
    assertThat(faults()).isEmpty();
    assertThat(verdict().steps()).isEqualTo(2);
    assertThat(verdict().generations()).containsOnlyKeys(1, 2);
  }

  @Test
  void aSampleThatIsUsedTwiceIsFound() {
    replace("c", 1, new Begun(0, 2, 1, 0, 1, List.of(5L, 4L), 0));
    assertThat(faults())
        .containsExactly(
            "sample 4 of epoch 0 was used 2 times", "sample 7 of epoch 0 was used 0 times");
  }

  @Test
  void aSampleThatIsMissingIsFound() {
    replace("c", 1, new Begun(0, 2, 1, 0, 1, List.of(5L), 1));
    assertThat(faults()).containsExactly("sample 7 of epoch 0 was used 0 times");
    assertThat(verdict().padding()).isEqualTo(1);
  }

  @Test
  void anotherStateAtTheStartIsFound() {
    replace("c", 0, new Entered(0, 2, 1, 1, 2, Origin.RANK_ZERO, 5));
    assertThat(faults())
        .containsExactly(
            "rank 1 (c) of generation 2 starts with another state than the other ranks");
  }

  @Test
  void anotherStateAfterAStepIsFound() {
    replace("b", 2, new Done(0, 1, 0, 5));
    assertThat(faults())
        .containsExactly("the states of the ranks differ after step 0 of generation 1 (b)");
  }

  @Test
  void anotherSeedOfARepeatedStepIsFound() {
    replace("a", 5, new Begun(0, 2, 1, 0, 7, List.of(4L, 6L), 0));
    assertThat(faults())
        .containsExactly("rank 0 of step 1 has the seed 7 in generation 2, and 1 in another");
  }

  @Test
  void aRankAtAnotherStepIsFound() {
    replace("c", 0, new Entered(0, 2, 2, 1, 2, Origin.RANK_ZERO, 101));
    assertThat(faults()).hasSize(1).first().asString().contains("starts at step 2 of 2 ranks");
  }

  @Test
  void aCompletedStepThatIsRepeatedIsFound() {
    log("a").add(4, new Done(0, 1, 1, 102));
    assertThat(faults()).containsExactly("a has done step 1, but generation 2 starts at step 1");
  }

  @Test
  void aCheckpointUndoesTheStepsAfterIt() {
    logs.clear();
    enter(1, 0, Origin.START, 100, "a", "b");
    step("a", 1, 0, 0L, 1L);
    step("b", 1, 0, 2L, 3L);
    step("a", 1, 1, 4L, 5L);
    step("b", 1, 1, 6L, 7L);
    enter(2, 1, Origin.CHECKPOINT, 101, "c", "d");
    step("c", 2, 1, 5L, 4L);
    step("d", 2, 1, 6L, 7L);
    end("c");
    end("d");
    assertThat(faults()).isEmpty();
    assertThat(verdict().undone()).isEqualTo(1);
  }

  /** The training of two ranks, one step of which was only begun, up to the loss of both. */
  private void loseAllAfter(int steps) {
    logs.clear();
    enter(1, 0, Origin.START, 100, "a", "b");
    for (int i = 0; i < steps; i++) {
      step("a", 1, i, 2L * i);
      step("b", 1, i, 2L * i + 1);
    }
    begin("a", 1, steps, 2L * steps);
    begin("b", 1, steps, 2L * steps + 1);
  }

  private void trainFrom(int step, String... names) {
    for (int i = step; i < 4; i++) {
      step(names[0], 2, i, 2L * i);
      step(names[1], 2, i, 2L * i + 1);
    }
    end(names[0]);
    end(names[1]);
  }

  @Test
  void aStepThatWasOnlyBegunIsNotRepeated() {
    loseAllAfter(3);
    enter(2, 2, Origin.CHECKPOINT, 102, "c", "d");
    trainFrom(2, "c", "d");
    assertThat(faults()).isEmpty();
    assertThat(verdict().undone()).isEqualTo(1);
  }

  @Test
  void aReturnToAnOldCheckpointIsFound() {
    loseAllAfter(3);
    enter(2, 0, Origin.CHECKPOINT, 100, "c", "d");
    trainFrom(0, "c", "d");
    assertThat(faults())
        .containsExactly("generation 2 has undone 3 steps, with a checkpoint every 1");
  }

  @Test
  void anotherStartIsFound() {
    loseAllAfter(1);
    enter(2, 0, Origin.START, 100, "c", "d");
    trainFrom(0, "c", "d");
    assertThat(faults()).containsExactly("generation 2 starts the training again");
  }

  @Test
  void aCheckpointInPlaceOfTheStateOfARankIsFound() {
    loseAllAfter(2);
    enter(2, 2, Origin.CHECKPOINT, 102, "a", "d");
    trainFrom(2, "a", "d");
    assertThat(faults())
        .containsExactly("a has done step 1, but generation 2 takes the state from CHECKPOINT");
  }

  @Test
  void aRankThatGoesBackToACheckpointIsFound() {
    loseAllAfter(2);
    enter(2, 1, Origin.CHECKPOINT, 101, "a", "d");
    trainFrom(1, "a", "d");
    assertThat(faults()).containsExactly("a has done step 1, but generation 2 starts at step 1");
  }

  @Test
  void aStepOfAGenerationThatNobodyHasEnteredIsFound() {
    log("a").add(new Done(0, 3, 2, 103));
    assertThat(faults()).containsExactly("a has done step 2 of a generation not entered");
  }

  @Test
  void aGenerationThatStartsTooLateIsFound() {
    replace("a", 4, new Entered(0, 2, 3, 0, 2, Origin.RANK_ZERO, 101));
    replace("c", 0, new Entered(0, 2, 3, 1, 2, Origin.RANK_ZERO, 101));
    assertThat(faults()).contains("generation 2 starts at step 3, which no one has reached");
  }

  @Test
  void aStepThatNotAllRanksHaveBegunIsFound() {
    log("c").remove(1);
    assertThat(faults())
        .contains("step 1 counts as completed in generation 2, where 1 of 2 ranks have begun it");
  }

  @Test
  void aGenerationOfTooFewRanksIsFound() {
    loseAllAfter(1);
    log("e").add(new Entered(0, 2, 0, 0, 1, Origin.CHECKPOINT, 100));
    assertThat(faults()).contains("generation 2 has 1 ranks, outside of 2 to 4");
  }

  @Test
  void aRankThatDoesNotCompleteTheTrainingIsFound() {
    log("c").remove(3);
    assertThat(faults())
        .containsExactly("1 ranks have completed the training, of 2 in the last generation");
  }

  @Test
  void aRankThatFailsIsFound() {
    log("b").add(new Ended(0, End.FAILED, "no memory"));
    assertThat(faults()).containsExactly("b has failed: no memory");
  }

  @Test
  void noLogsAreNoProof() {
    logs.clear();
    assertThat(faults()).isNotEmpty();
  }
}
