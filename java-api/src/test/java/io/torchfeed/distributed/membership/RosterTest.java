// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Tests the rules with simulated ranks, whose messages arrive late and in any order between ranks.
 * They train one number each: the steps completed, which all ranks of a generation add to together.
 */
class RosterTest {
  private static final long MILLI = 1_000_000;
  private static final int STEPS = 40;

  /** A rank: the rules of {@link Membership}, without threads. */
  private static final class Rank {
    final long id;
    long step = Message.NO_STEP;
    int generation;
    int rank = -1;
    int size;
    boolean isIn;
    boolean isBroken;
    boolean isDone;
    long at = Long.MAX_VALUE;
    long stopAfter = Long.MAX_VALUE;
    boolean isLeaving;

    Rank(long id) {
      this.id = id;
    }

    /** Returns whether it may begin another step. */
    boolean isFree() {
      boolean holds = at != Long.MAX_VALUE && stopAfter == Long.MAX_VALUE && step > at;
      return isIn && !isBroken && !isDone && !holds && step < stopAfter;
    }
  }

  /** A job of simulated ranks. */
  private static final class Job implements Roster.Wire {
    final Random random;
    final Roster roster;
    final Map<Long, Rank> ranks = new LinkedHashMap<>();
    final List<Rank> left = new ArrayList<>();
    final Map<Long, List<Message>> toRanks = new HashMap<>();
    final Map<Long, List<Message>> toRoster = new HashMap<>();
    final List<CoordinatorEvent> events = new ArrayList<>();
    long now;
    long nextId;
    boolean isStateLost;

    Job(long seed, CoordinatorOptions options) {
      random = new Random(seed);
      roster = new Roster(options, this, events::add, 0);
    }

    @Override
    public void send(long id, Message message) {
      if (!(message instanceof Message.Beat)) {
        toRanks.computeIfAbsent(id, any -> new ArrayList<>()).add(message);
      }
    }

    @Override
    public void drop(long id) {
      left.add(rank(id));
      ranks.remove(id);
    }

    Rank rank(long id) {
      return requireNonNull(ranks.get(id));
    }

    List<Message> sentTo(long id) {
      return requireNonNull(toRanks.get(id));
    }

    void come() {
      Rank rank = new Rank(nextId++);
      ranks.put(rank.id, rank);
      roster.connected(rank.id, "r" + rank.id, now);
      tell(rank, new Message.Ready(Message.NO_STEP, ""));
    }

    void tell(Rank rank, Message message) {
      toRoster.computeIfAbsent(rank.id, any -> new ArrayList<>()).add(message);
    }

    /** Kills a rank; its messages still arrive. */
    void kill(Rank rank) {
      deliverAllOf(rank);
      ranks.remove(rank.id);
      roster.gone(rank.id, "killed", now);
    }

    private void deliverAllOf(Rank rank) {
      for (Message each : toRoster.getOrDefault(rank.id, List.of())) {
        roster.received(rank.id, each, now);
      }
      toRoster.remove(rank.id);
    }

    /** Delivers one message, or trains one step. */
    void move() {
      now += MILLI;
      List<Rank> all = List.copyOf(ranks.values());
      for (Rank each : all) {
        roster.received(each.id, new Message.Beat(Math.max(0, each.step)), now);
      }
      roster.tick(now, false);
      if (all.isEmpty()) {
        return;
      }
      Rank one = all.get(random.nextInt(all.size()));
      List<Message> in = toRanks.getOrDefault(one.id, List.of());
      List<Message> out = toRoster.getOrDefault(one.id, List.of());
      if (!out.isEmpty() && random.nextBoolean()) {
        roster.received(one.id, out.remove(0), now);
      } else if (!in.isEmpty()) {
        take(one, in.remove(0));
      } else {
        train(one);
      }
    }

    private void take(Rank rank, Message message) {
      if (message instanceof Message.Formed m) {
        assertThat(rank.isIn).as("is in one generation at a time").isFalse();
        rank.isIn = true;
        rank.isBroken = false;
        rank.isDone = false;
        rank.generation = m.generation();
        rank.rank = m.rank();
        rank.size = m.size();
        rank.at = Long.MAX_VALUE;
        rank.stopAfter = Long.MAX_VALUE;
        World.Origin origin = m.origin();
        if (origin == World.Origin.RANK_ZERO) {
          assertThat(m.step()).isGreaterThanOrEqualTo(rank.step);
          rank.step = m.step(); // the transfer of the state
        } else {
          assertThat(rank.step).isEqualTo(Message.NO_STEP);
          isStateLost |= origin == World.Origin.CHECKPOINT;
          rank.step = 0;
        }
      } else if (message instanceof Message.Broken m && m.generation() == rank.generation) {
        rank.isBroken = true;
        leaveWorld(rank, m.reason());
      } else if (message instanceof Message.Pause m && isCurrent(rank, m.generation())) {
        rank.at = rank.step;
        tell(rank, new Message.At(m.generation(), rank.step));
      } else if (message instanceof Message.StopAfter m && isCurrent(rank, m.generation())) {
        rank.stopAfter = m.step();
        assertThat(rank.step).as("no rank is beyond the last step").isLessThanOrEqualTo(m.step());
      }
    }

    private static boolean isCurrent(Rank rank, int generation) {
      return rank.isIn && !rank.isBroken && rank.generation == generation;
    }

    private void leaveWorld(Rank rank, String reason) {
      if (rank.isIn) {
        rank.isIn = false;
        tell(rank, new Message.Ready(rank.step, reason));
      }
    }

    /** A step of a whole generation, which completes on all ranks or only on some. */
    private void train(Rank one) {
      if (!one.isIn || one.isBroken) {
        return;
      }
      if (one.step >= STEPS && !one.isDone) {
        one.isDone = true;
        tell(one, new Message.Finished(one.step));
      } else if (one.step >= one.stopAfter && !one.isDone) {
        if (one.isLeaving) {
          one.isIn = false;
          tell(one, new Message.Left(""));
        } else {
          leaveWorld(one, "");
        }
      } else if (one.isFree()) {
        long taking =
            Stream.concat(ranks.values().stream(), left.stream())
                .filter(r -> r.generation == one.generation)
                .filter(r -> r.step == one.step + 1 || (r.step == one.step && r.isFree()))
                .count();
        if (taking == one.size) {
          one.step++;
        }
      }
    }
  }

  private static Job run(long seed, boolean isKind) {
    CoordinatorOptions options =
        CoordinatorOptions.of(1, 4)
            .withStart(Duration.ofMillis(20))
            .withReplacement(Duration.ofMillis(500));
    Job job = new Job(seed, options);
    job.come();
    job.come();
    job.come();
    for (int move = 0; move < 20_000 && !job.roster.isOver(); move++) {
      job.move();
      List<Rank> all = List.copyOf(job.ranks.values());
      int dice = job.random.nextInt(600);
      if (dice == 0 && all.size() < 6) {
        job.come();
      } else if (dice == 1 && !isKind && !all.isEmpty()) {
        job.kill(all.get(job.random.nextInt(all.size())));
      } else if (dice == 2 && all.size() > 1) {
        Rank leaver = all.get(job.random.nextInt(all.size()));
        if (leaver.isIn && !leaver.isLeaving && all.stream().noneMatch(r -> r.isLeaving)) {
          leaver.isLeaving = true;
          job.tell(leaver, new Message.Leaving());
        }
      }
      requireOneWorldOfDistinctRanks(job);
    }
    return job;
  }

  private static void requireOneWorldOfDistinctRanks(Job job) {
    Map<Integer, BitSet> worlds = new HashMap<>();
    for (Rank each : job.ranks.values()) {
      if (each.isIn) {
        BitSet numbers = worlds.computeIfAbsent(each.generation, any -> new BitSet());
        assertThat(numbers.get(each.rank)).isFalse();
        numbers.set(each.rank);
      }
    }
    assertThat(worlds.size()).isLessThanOrEqualTo(1);
  }

  @Test
  void ranksThatComeAndLeaveCompleteTheTraining() {
    for (long seed = 0; seed < 300; seed++) {
      Job job = run(seed, true);
      assertThat(job.roster.isOver()).as("over, seed %d: %s", seed, job.events).isTrue();
      assertThat(job.isStateLost).isFalse();
      assertThat(job.events)
          .as("seed %d", seed)
          .noneMatch(each -> each.kind() == CoordinatorEvent.Kind.BROKEN);
      assertThat(job.roster.failure()).isNull();
    }
  }

  @Test
  void ranksThatAreKilledLeaveAJobThatEnds() {
    int completed = 0;
    for (long seed = 0; seed < 300; seed++) {
      Job job = run(seed, false);
      assertThat(job.roster.isOver()).as("over, seed %d: %s", seed, job.events).isTrue();
      completed += job.roster.failure() == null ? 1 : 0;
    }
    assertThat(completed).isGreaterThanOrEqualTo(150);
  }

  @Test
  void aJobWithEnoughRanksWaitsForMoreAsLongAsItMay() {
    CoordinatorOptions options =
        CoordinatorOptions.of(2, 3)
            .withStart(Duration.ofMillis(100))
            .withReplacement(Duration.ofMillis(20));
    Job job = new Job(1, options);
    job.come();
    job.come();
    for (int move = 0; move < 90; move++) {
      job.move();
      assertThat(job.roster.failure()).isNull();
      assertThat(job.roster.generation()).isZero();
    }
    for (int move = 0; move < 90; move++) {
      job.move();
    }
    assertThat(job.roster.generation()).isEqualTo(1);
  }

  /** A member that is silent, with a coordinator that looks ten times within the limit. */
  private static final class SilentMember {
    static final long LIMIT = 1000 * MILLI;
    final Job job = new Job(1, CoordinatorOptions.of(1, 1).withSilence(Duration.ofNanos(LIMIT)));

    SilentMember() {
      job.come();
      job.deliverAllOf(job.rank(0));
      job.sentTo(0).clear();
    }

    /** Lets time pass, and returns whether the member is still there. */
    boolean livesAfter(long nanos, boolean isLate) {
      for (long until = job.now + nanos; job.now < until; ) {
        job.now += LIMIT / 10;
        job.roster.tick(job.now, isLate);
      }
      return !job.ranks.isEmpty();
    }
  }

  @Test
  void aSilentMemberIsExpelledAtOnceIfAllGoesOnTime() {
    SilentMember member = new SilentMember();
    assertThat(member.livesAfter(SilentMember.LIMIT, false)).isTrue();
    assertThat(member.livesAfter(SilentMember.LIMIT / 10, false)).isFalse();
    assertThat(member.job.events.get(member.job.events.size() - 2).text())
        .isEqualTo("rank 0 (r0) was lost: no sign of life for 1000 ms");
  }

  @Test
  void aSilentMemberIsAskedFirstIfTheCoordinatorWasLate() {
    SilentMember member = new SilentMember();
    assertThat(member.livesAfter(10 * SilentMember.LIMIT, true)).isTrue();
    assertThat(member.job.sentTo(0)).containsExactly(new Message.Ask());
    member.job.roster.received(0, new Message.Beat(0), member.job.now); // its answer
    assertThat(member.livesAfter(10 * SilentMember.LIMIT, true)).isTrue();
    assertThat(member.job.sentTo(0)).containsExactly(new Message.Ask(), new Message.Ask());
    assertThat(member.livesAfter(2 * SilentMember.LIMIT, true)).isFalse();
    assertThat(member.job.events.get(member.job.events.size() - 2).text())
        .isEqualTo(
            "rank 0 (r0) was lost: no sign of life for 1000 ms, and no answer within 10000 ms");
  }

  @Test
  void aSilentMemberIsAskedFirstIfItWasLateBefore() {
    SilentMember member = new SilentMember();
    assertThat(member.livesAfter(6 * SilentMember.LIMIT / 10, false)).isTrue();
    member.job.roster.received(0, new Message.Beat(0), member.job.now);
    assertThat(member.livesAfter(9 * SilentMember.LIMIT, false)).isTrue();
    member.job.roster.received(0, new Message.Beat(0), member.job.now);
    for (int i = 0; i < 110; i++) { // it is on time again
      assertThat(member.livesAfter(SilentMember.LIMIT / 10, false)).isTrue();
      member.job.roster.received(0, new Message.Beat(0), member.job.now);
    }
    assertThat(member.livesAfter(2 * SilentMember.LIMIT, false)).isFalse();
  }

  @Test
  void tenThousandRanksFormAndLoseAHundred() {
    int ranks = 10_000;
    Job job = new Job(1, CoordinatorOptions.of(1, ranks).withSilence(Duration.ofDays(1)));
    for (int i = 0; i < ranks; i++) {
      job.come();
      job.deliverAllOf(job.rank(i));
    }
    assertThat(job.roster.generation()).isEqualTo(1);
    for (Rank each : List.copyOf(job.ranks.values())) {
      job.take(each, job.sentTo(each.id).remove(0));
    }
    for (long i = 0; i < 100; i++) {
      job.kill(job.rank(i));
    }
    for (Rank each : List.copyOf(job.ranks.values())) {
      job.take(each, job.sentTo(each.id).remove(0));
      job.deliverAllOf(each);
    }
    assertThat(job.roster.generation()).isEqualTo(2);
    assertThat(job.sentTo(5000).get(job.sentTo(5000).size() - 1))
        .isInstanceOfSatisfying(
            Message.Formed.class, m -> assertThat(m.size()).isEqualTo(ranks - 100));
  }
}
