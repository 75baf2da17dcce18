// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.cursor.Segments;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * The progress of an epoch, to be kept in a checkpoint, so that {@link #resume} continues exactly
 * there, even with another number of ranks. Immutable.
 *
 * <pre>{@code
 * try (ResumableCursor.OfIndices cursor = state.resume(sampler)) {
 *   cursor.next(indices, 0, batchSize);
 *   String checkpoint = cursor.state().toJson();
 * }
 * }</pre>
 *
 * <p>A state holds the parameters of the plan and a few numbers, but no indices and no permutation:
 * it stays under 1 KB at any dataset size, and grows by about 50 bytes each time the number of
 * ranks changes within one epoch. It is independent of workers and prefetching: a position counts
 * deliveries to the consumer.
 *
 * <p>The state of a divided plan holds neither its rank nor its world size, so ranks that have
 * delivered equally much have equal states, and any of them may save it ({@link
 * RankConsistency#ofState} checks that). After a crash, use the state of the rank that has
 * progressed least: this repeats samples but loses none. In batches of a fixed size, ranks that
 * have delivered equally many batches have equal states, also where the last batch of one is
 * smaller.
 *
 * <p>With {@link Tail#UNEVEN}, save the state of a rank with the longest part, such as rank 0 of
 * {@link io.torchfeed.sampler.order.StridedSampler}. A shorter part ends before it, and the state
 * of its rank has no later deliveries of other ranks: it is {@linkplain #partEnded marked}, and
 * only ranks at the end of their part can be resumed from it.
 *
 * <p>Invariant: over all segments, each sample of the epoch is delivered exactly once, apart from
 * padding and, with {@link Tail#DROP}, fewer samples at the end than there are ranks. While the
 * number of ranks stays the same, nothing is redistributed; when it changes, old padding is
 * discarded and the new end is padded.
 *
 * @param plan the parameters of the order: {@link Plan#order}, or {@link Sampler#parameters} of
 *     other plans
 * @param epoch the number of the epoch, at least 0
 * @param segments the parts of the epoch that were delivered, oldest first; neighbours differ in
 *     world size, and none is empty; at most 1000. A plan that is not divided counts as one rank.
 * @param finished whether the end of the epoch was reported, so that resuming starts the next
 *     epoch; there are then no segments
 * @param orderDigest a digest of plan, epoch and 64 samples of the epoch's order; orders that need
 *     a list of more than 2<sup>24</sup> samples contribute no samples
 * @param partEnded whether the rank of this state was at the end of a part that is shorter than
 *     another rank's; false if the epoch is finished
 */
public record SamplerState(
    PlanParameters plan,
    long epoch,
    List<EpochSegment> segments,
    boolean finished,
    long orderDigest,
    boolean partEnded) {
  private static final long DIGEST_VERSION = 1;

  /** The maximum number of segments in an epoch: resuming takes time and memory for each. */
  private static final int MAX_SEGMENTS = 1000;

  /**
   * Creates a state.
   *
   * @param plan the parameters of the order
   * @param epoch the number of the epoch, at least 0
   * @param segments the parts of the epoch that were delivered, oldest first
   * @param finished whether the end of the epoch was reported
   * @param orderDigest a digest of the epoch's order
   * @param partEnded whether the rank was at the end of a part that is shorter than another's
   * @throws IllegalArgumentException if an argument is out of range
   */
  public SamplerState {
    requireNonNull(segments, "segments");
    requireNonNull(plan, "plan");
    segments = Checks.copyOf("segments", segments);
    Checks.requireEpoch(epoch);
    if (segments.size() > MAX_SEGMENTS) {
      throw new IllegalArgumentException(
          "an epoch must have at most %d segments, got %d"
              .formatted(MAX_SEGMENTS, segments.size()));
    }
    if (finished && (epoch == Long.MAX_VALUE || !segments.isEmpty())) {
      throw new IllegalArgumentException(
          "a finished epoch must be below %d and have no segments, got epoch %d and %d segments"
              .formatted(Long.MAX_VALUE, epoch, segments.size()));
    }
    if (partEnded && finished) {
      throw new IllegalArgumentException("partEnded must be false in a finished epoch, got true");
    }
    for (int i = 0; i < segments.size(); i++) {
      requireProper(segments, i);
    }
  }

  /**
   * Creates a state of a rank with the longest part.
   *
   * @param plan the parameters of the order
   * @param epoch the number of the epoch, at least 0
   * @param segments the parts of the epoch that were delivered, oldest first
   * @param finished whether the end of the epoch was reported
   * @param orderDigest a digest of the epoch's order
   * @throws IllegalArgumentException if an argument is out of range
   */
  public SamplerState(
      PlanParameters plan,
      long epoch,
      List<EpochSegment> segments,
      boolean finished,
      long orderDigest) {
    this(plan, epoch, segments, finished, orderDigest, false);
  }

  private static void requireProper(List<EpochSegment> segments, int i) {
    EpochSegment segment = segments.get(i);
    if (segment.deliveredByEachRank() == 0) {
      throw new IllegalArgumentException("segments must not be empty, got " + segment);
    }
    if (i > 0 && segments.get(i - 1).worldSize() == segment.worldSize()) {
      throw new IllegalArgumentException(
          "segments that follow each other must differ in worldSize, got %s followed by %s"
              .formatted(segments.get(i - 1), segment));
    }
  }

  /**
   * Returns the state of an uninterrupted epoch. For a resumed epoch, see {@link
   * ResumableCursor#stateAt}.
   *
   * @param sampler the plan; its epoch is opened once more if the order is a list
   * @param epoch the number of the epoch, at least 0
   * @param position the number of indices each rank has delivered, in [0, size of the sampler]
   * @return the state, not finished; never of a {@linkplain #partEnded shorter part}, since all
   *     ranks have the same position
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static SamplerState of(Sampler sampler, long epoch, long position) {
    requireNonNull(sampler, "sampler");
    Checks.requireEpoch(epoch);
    Checks.requirePosition(position, sampler.size());
    int worldSize = sampler.part().worldSize();
    return unfinished(
        sampler.order(),
        epoch,
        List.of(),
        new EpochSegment(worldSize, position),
        digest(sampler, epoch, worldSize),
        false);
  }

  /**
   * Returns the state of an uninterrupted epoch of a plan in batches. For a resumed epoch, see
   * {@link ResumableCursor#stateAt}.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @param position the number of batches delivered, in [0, number of batches]
   * @return the state, not finished
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static SamplerState of(BatchSampler sampler, long epoch, long position) {
    requireNonNull(sampler, "sampler");
    try (ResumableCursor.OfBatches cursor = ResumableCursor.open(sampler, epoch)) {
      return cursor.stateAt(position);
    }
  }

  static SamplerState unfinished(
      PlanParameters plan,
      long epoch,
      List<EpochSegment> before,
      EpochSegment last,
      long orderDigest,
      boolean partEnded) {
    List<EpochSegment> all = new ArrayList<>(before);
    all.add(last);
    List<EpochSegment> segments = Segments.withoutEmptyOnes(all);
    return new SamplerState(plan, epoch, segments, false, orderDigest, partEnded);
  }

  /**
   * Opens a cursor that continues where the state was taken. The caller owns the cursor and closes
   * it.
   *
   * <p>If nothing was delivered yet, the cursor covers the whole epoch; if everything was delivered
   * but the end was not reported, it is at the end; if the state is finished, it covers the whole
   * next epoch. With the same number of ranks as before, it is the epoch's cursor at the saved
   * position, opened in the time that {@link Seekable#seek} takes; with another number, it is
   * {@link Plan#resume}'s, whose positions count from the start of the rank's part of the rest.
   *
   * @param sampler the plan that saved the state, with any rank and world size
   * @return the cursor
   * @throws ResumeMismatchException if the plan differs from the one that saved the state, or the
   *     rank that saved it was at the end of a shorter part ({@link #partEnded}), and this one is
   *     not
   * @throws IllegalArgumentException if more was delivered than the plan contains
   * @throws IllegalStateException if the order needs more memory than is available
   */
  public ResumableCursor.OfIndices resume(Sampler sampler) {
    requireNonNull(sampler, "sampler");
    plan.requireSame(sampler.order());
    if (isBetweenEpochs()) {
      return requireKnown(ResumableCursor.open(sampler, nextEpoch()));
    }
    requireSameOrder(digest(sampler, epoch, segments.get(0).worldSize()));
    return requireKnown(ResumableCursor.resume(sampler, this));
  }

  /**
   * Opens a cursor over batches that continues where the state was taken. The caller owns the
   * cursor and closes it.
   *
   * <p>The rules of {@link #resume(Sampler)} apply; see {@link Plan#resume} for the positions.
   *
   * @param sampler the plan that saved the state, with any rank and world size
   * @return the cursor
   * @throws ResumeMismatchException if the plan differs from the one that saved the state, or the
   *     rank that saved it was at the end of a shorter part ({@link #partEnded}), and this one is
   *     not
   * @throws IllegalArgumentException if more was delivered than the plan contains, or the number of
   *     ranks has changed and the plan cannot divide the rest
   */
  public ResumableCursor.OfBatches resume(BatchSampler sampler) {
    requireNonNull(sampler, "sampler");
    plan.requireSame(sampler.order());
    if (isBetweenEpochs()) {
      return requireKnown(ResumableCursor.open(sampler, nextEpoch()));
    }
    requireSameOrder(digest(sampler, epoch, segments.get(0).worldSize()));
    return requireKnown(ResumableCursor.resume(sampler, this));
  }

  /** Requires that nothing is left to a rank that another one may have delivered meanwhile. */
  private <C extends ResumableCursor<?>> C requireKnown(C cursor) {
    long left = cursor.remaining();
    if (partEnded && left > 0) {
      cursor.close();
      throw new ResumeMismatchException(segments, left);
    }
    return cursor;
  }

  private boolean isBetweenEpochs() {
    return finished || segments.isEmpty();
  }

  private long nextEpoch() {
    return finished ? epoch + 1 : epoch;
  }

  /**
   * Returns this state with the end of the epoch reported.
   *
   * @return the state from which the next epoch is resumed
   */
  public SamplerState asFinished() {
    return new SamplerState(plan, epoch, List.of(), true, orderDigest);
  }

  /**
   * Returns the state as one line of JSON.
   *
   * @return the text; {@link #fromJson} restores an equal state
   */
  public String toJson() {
    return StateJson.write(this);
  }

  /**
   * Parses a state from JSON.
   *
   * @param json a result of {@link #toJson}; fields may be in any order, with white space
   * @return the state
   * @throws IllegalArgumentException if the text is not a JSON object, a field is missing, unknown,
   *     duplicated or invalid, or the version is unknown
   */
  public static SamplerState fromJson(String json) {
    requireNonNull(json, "json");
    return StateJson.read(json);
  }

  static long digest(Plan<?> plan, long epoch, int worldSize) {
    return digest(plan.order(), epoch, plan.probe(epoch, worldSize));
  }

  private static long digest(PlanParameters plan, long epoch, long[] probes) {
    long digest =
        Hash64.foldAll(
            DIGEST_VERSION, Hash64.fnv1a(plan.kind()), Hash64.fnv1a(plan.digest()), epoch);
    for (long probe : probes) {
      digest = Hash64.fold(digest, probe);
    }
    return digest;
  }

  private void requireSameOrder(long present) {
    if (orderDigest != present) {
      throw new ResumeMismatchException(
          ResumeMismatchException.ORDER, hex(orderDigest), hex(present));
    }
  }

  static String hex(long digest) {
    return HexFormat.of().toHexDigits(digest);
  }
}
