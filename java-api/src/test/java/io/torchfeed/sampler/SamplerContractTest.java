// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.ElasticRun;
import io.torchfeed.testing.SamplerFamilies;
import io.torchfeed.testing.SamplerFamilies.Divided;
import io.torchfeed.testing.SamplerFamilies.Whole;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/**
 * The contract of every sampler of {@link SamplerFamilies}, for all parameters: each run tries
 * others.
 */
class SamplerContractTest {
  private static final long MAX_EPOCHS = 1L << 40;

  @Provide
  Arbitrary<Whole> whole() {
    return Arbitraries.of(SamplerFamilies.WHOLE);
  }

  @Provide
  Arbitrary<Divided> divided() {
    return Arbitraries.of(SamplerFamilies.DIVIDED);
  }

  @Property(tries = 60)
  void negativeEpochsAreRefusedAtOnce(
      @ForAll("whole") Whole family,
      @ForAll("divided") Divided other,
      @ForAll @LongRange(min = 0, max = 100) long n,
      @ForAll @LongRange(min = Long.MIN_VALUE, max = -1) long epoch) {
    for (Sampler plan :
        List.of(
            family.plans().of(n, 3),
            other.plan(n, Part.rank(0).of(2), other.tails().iterator().next(), 3))) {
      for (ThrowingCallable call :
          List.<ThrowingCallable>of(
              () -> plan.indices(epoch),
              () -> plan.epoch(epoch),
              () -> plan.resume(epoch, List.of()),
              () -> plan.probe(epoch, 2))) {
        assertThatIllegalArgumentException()
            .as("%s", plan)
            .isThrownBy(call)
            .withMessageStartingWith("epoch must be at least 0, got " + epoch);
      }
    }
  }

  @Property(tries = 100)
  void aWholePlanDeliversEverySampleOnce(
      @ForAll("whole") Whole family,
      @ForAll @LongRange(min = 0, max = 3_000) long n,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = MAX_EPOCHS) long epoch) {
    long[] seen = Cursors.indices(family.plans().of(n, seed), epoch);
    assertThat(LongStream.of(seen).sorted().toArray()).isEqualTo(range(n));
  }

  @Property(tries = 150)
  void ranksAreDisjointAndCoverTheDatasetApartFromPaddingOrADroppedTail(
      @ForAll("divided") Divided family,
      @ForAll Tail tail,
      @ForAll @LongRange(min = 0, max = 400) long n,
      @ForAll @IntRange(min = 1, max = 40) int worldSize,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = MAX_EPOCHS) long epoch) {
    Assume.that(family.tails().contains(tail));
    long[] seen =
        IntStream.range(0, worldSize)
            .mapToObj(rank -> family.plan(n, new Part(worldSize, rank), tail, seed))
            .flatMapToLong(plan -> LongStream.of(Cursors.withoutPadding(plan, epoch)))
            .toArray();
    ElasticRun.requireLaw(seen, n, tail, n % worldSize);
  }

  @Property(tries = 150)
  void ranksHaveEqualCountsUnlessUneven(
      @ForAll("divided") Divided family,
      @ForAll Tail tail,
      @ForAll @LongRange(min = 0, max = 400) long n,
      @ForAll @IntRange(min = 1, max = 40) int worldSize,
      @ForAll long seed) {
    Assume.that(family.tails().contains(tail));
    long[] sizes =
        IntStream.range(0, worldSize)
            .mapToLong(rank -> family.plan(n, new Part(worldSize, rank), tail, seed).size())
            .toArray();
    long whole = n / worldSize;
    long more = n % worldSize == 0 ? 0 : 1;
    for (int rank = 0; rank < worldSize; rank++) {
      long expected =
          switch (tail) {
            case PAD -> whole + more;
            case DROP -> whole;
            case UNEVEN -> rank < n % worldSize ? whole + 1 : whole;
          };
      assertThat(sizes[rank]).isEqualTo(expected);
      assertThat(Cursors.indices(family.plan(n, new Part(worldSize, rank), tail, seed), 0))
          .hasSize((int) expected);
    }
  }

  @Property(tries = 100)
  void seekingEqualsSkipping(
      @ForAll("divided") Divided family,
      @ForAll @LongRange(min = 0, max = 400) long n,
      @ForAll @IntRange(min = 1, max = 9) int worldSize,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = MAX_EPOCHS) long epoch) {
    Sampler plan = family.plan(n, new Part(worldSize, worldSize / 2), Tail.PAD, seed);
    long[] all = Cursors.indices(plan, epoch);
    try (Cursor cursor = plan.epoch(epoch)) {
      for (int position = all.length; position >= 0; position--) {
        cursor.seek(position);
        assertThat(Cursors.rest(cursor)).isEqualTo(Arrays.copyOfRange(all, position, all.length));
      }
    }
  }

  @Property(tries = 60)
  void aWholePlanResumesAtEveryPosition(
      @ForAll("whole") Whole family,
      @ForAll @LongRange(min = 0, max = 40) long n,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = MAX_EPOCHS) long epoch) {
    requireResumable(family.plans().of(n, seed), epoch);
  }

  @Property(tries = 100)
  void aRankResumesAtEveryPositionIncludingPadding(
      @ForAll("divided") Divided family,
      @ForAll Tail tail,
      @ForAll @LongRange(min = 0, max = 60) long n,
      @ForAll @IntRange(min = 1, max = 9) int worldSize,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = MAX_EPOCHS) long epoch) {
    Assume.that(family.tails().contains(tail));
    requireResumable(family.plan(n, new Part(worldSize, worldSize - 1), tail, seed), epoch);
  }

  @Property(tries = 100)
  void ranksAtTheSamePositionShareAState(
      @ForAll("divided") Divided family,
      @ForAll @LongRange(min = 1, max = 60) long n,
      @ForAll @IntRange(min = 2, max = 9) int worldSize,
      @ForAll long seed) {
    long position = family.plan(n, new Part(worldSize, 0), Tail.PAD, seed).size() / 2;
    assertThat(
            IntStream.range(0, worldSize)
                .mapToObj(rank -> family.plan(n, new Part(worldSize, rank), Tail.PAD, seed))
                .map(plan -> SamplerState.of(plan, 3, position))
                .distinct())
        .hasSize(1);
  }

  @Property(tries = 200)
  void threeNumbersOfRanksDeliverEverySampleOnce(
      @ForAll("divided") Divided family,
      @ForAll Tail tail,
      @ForAll @LongRange(min = 0, max = 60) long n,
      @ForAll @IntRange(min = 1, max = 17) int first,
      @ForAll @IntRange(min = 1, max = 17) int second,
      @ForAll @IntRange(min = 1, max = 17) int third,
      @ForAll @LongRange(min = 0, max = 30) long firstSteps,
      @ForAll @LongRange(min = 0, max = 30) long secondSteps,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = MAX_EPOCHS) long epoch) {
    Assume.that(family.tails().contains(tail));
    ElasticRun stopped =
        ElasticRun.start(family, n, tail, seed, epoch)
            .deliver(first, firstSteps)
            .deliver(second, secondSteps);
    stopped.deliver(third, Long.MAX_VALUE).requireLaw(stopped, third);
  }

  /** Saves each position, restores it and reads the rest of the epoch. */
  private static void requireResumable(Sampler plan, long epoch) {
    try (ResumableCursor.OfIndices cursor = ResumableCursor.open(plan, epoch)) {
      for (int position = 0; position <= plan.size(); position++) {
        cursor.seek(position);
        SamplerState state = cursor.state();
        assertThat(state).isEqualTo(stateOf(plan, epoch, position, state.partEnded()));
        assertThat(state.partEnded() && position < plan.size()).isFalse();
        try (ResumableCursor.OfIndices resumed =
            SamplerState.fromJson(state.toJson()).resume(plan)) {
          assertThat(resumed.state()).isEqualTo(state);
          assertThat(resumed.position()).isEqualTo(position);
          assertThat(Cursors.rest(resumed)).isEqualTo(Cursors.rest(cursor));
          for (int i = position; i < plan.size(); i++) {
            assertThat(resumed.isPadding(i)).isEqualTo(cursor.isPadding(i));
          }
        }
      }
    }
  }

  /** Returns a state, with the mark of a part that ends before others: {@code of} has none. */
  private static SamplerState stateOf(Sampler plan, long epoch, long position, boolean partEnded) {
    SamplerState known = SamplerState.of(plan, epoch, position);
    return new SamplerState(
        known.plan(), epoch, known.segments(), false, known.orderDigest(), partEnded);
  }

  static long[] range(long end) {
    return LongStream.range(0, end).toArray();
  }
}
