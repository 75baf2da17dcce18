// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How far an epoch has got: what a checkpoint keeps of a sampler, so that {@link #resume} goes on
 * exactly there, also with another number of ranks. Immutable.
 *
 * <pre>{@code
 * try (ResumableCursor cursor = state.resume(sampler)) {
 *   cursor.next(indices, 0, batchSize);
 *   byte[] checkpoint = cursor.state().toBytes();
 * }
 * }</pre>
 *
 * <p>A state holds the parameters of the plan and a few numbers, no index and no permutation: it
 * stays under 1 KB at any dataset size, and grows by 12 bytes ({@link #toBytes}) or about 50
 * ({@link #toJson}) each time the number of ranks changes within one epoch. It knows nothing of
 * workers and prefetching: a position counts what was delivered to the consumer.
 *
 * <p>The state of a divided plan holds neither rank nor world size of the plan, so ranks that
 * delivered equally much have equal states, and any of them may save it ({@link PlanCheck#ofState}
 * checks that). After a crash take the state of the rank that is least far: that repeats samples,
 * but loses none. With {@link Tail#UNEVEN} save the state of a rank whose part is the longest: at
 * the end of an epoch the others have a sample less, which would come again.
 *
 * <p>Rule of the segments: over all of them each sample of the epoch is delivered exactly once,
 * apart from padding and, with {@link Tail#DROP}, fewer samples than there are ranks at the end.
 * While the number of ranks stays the same nothing is divided anew; when it changes, old padding is
 * discarded and the new end is padded.
 *
 * @param plan the parameters of the order: {@link DistributedSampler#order}, or {@link
 *     Sampler#parameters} of other plans
 * @param epoch the number of the epoch, at least 0
 * @param segments what was delivered of it, the oldest part first; neighbours differ in world size,
 *     and none is empty. A plan that is not divided counts as one rank.
 * @param finished whether the end of the epoch was reported, so that the next epoch is due; there
 *     are no segments then
 * @param orderDigest a digest of plan, epoch and 64 samples of the epoch's order, of which orders
 *     that need a list of more than 2<sup>24</sup> samples have none
 */
public record SamplerState(
    PlanParameters plan, long epoch, List<Segment> segments, boolean finished, long orderDigest) {
  private static final long DIGEST_VERSION = 1;

  /**
   * A state.
   *
   * @param plan the parameters of the order
   * @param epoch the number of the epoch, at least 0
   * @param segments what was delivered of it, the oldest part first
   * @param finished whether the end of the epoch was reported
   * @param orderDigest a digest of the epoch's order
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public SamplerState {
    requireNonNull(plan, "plan");
    segments = List.copyOf(segments);
    Arguments.requireEpoch(epoch);
    if (finished && (epoch == Long.MAX_VALUE || !segments.isEmpty())) {
      throw new IllegalArgumentException(
          "a finished epoch must be below %d and has no segments, got epoch %d and %s"
              .formatted(Long.MAX_VALUE, epoch, segments));
    }
    for (int i = 0; i < segments.size(); i++) {
      requireProper(segments, i);
    }
  }

  private static void requireProper(List<Segment> segments, int i) {
    Segment segment = segments.get(i);
    if (segment.deliveredByEachRank() == 0) {
      throw new IllegalArgumentException("segments must not be empty, got " + segment);
    }
    if (i > 0 && segments.get(i - 1).worldSize() == segment.worldSize()) {
      throw new IllegalArgumentException(
          "segments that follow each other must differ in worldSize, got " + segments);
    }
  }

  /**
   * The state of an undisturbed epoch. For one that was itself resumed see {@link
   * ResumableCursor#stateAt}.
   *
   * @param sampler the plan; takes one more opening of its epoch if the order is a list
   * @param epoch the number of the epoch, at least 0
   * @param position how many indices each rank has delivered, in [0, size of the sampler]
   * @return the state, not finished
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static SamplerState of(Sampler sampler, long epoch, long position) {
    Arguments.requireEpoch(epoch);
    requirePosition(position, sampler.size());
    return unfinished(
        order(sampler), epoch, List.of(), segment(sampler, position), digest(sampler, epoch));
  }

  /**
   * The state of an undisturbed epoch of a plan in batches. For one that was itself resumed see
   * {@link ResumableBatchCursor#stateAt}.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @param position how many batches were delivered, in [0, number of batches]
   * @return the state, not finished
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static SamplerState ofBatches(BatchSampler sampler, long epoch, long position) {
    try (ResumableBatchCursor cursor = ResumableBatchCursor.open(sampler, epoch)) {
      return cursor.stateAt(position);
    }
  }

  static SamplerState unfinished(
      PlanParameters plan, long epoch, List<Segment> before, Segment last, long orderDigest) {
    List<Segment> all = new ArrayList<>(before);
    all.add(last);
    return new SamplerState(plan, epoch, Segment.withoutEmptyOnes(all), false, orderDigest);
  }

  /**
   * Opens a cursor that goes on where the state was taken. The caller owns and closes it.
   *
   * <p>Nothing delivered yet: the whole epoch. Everything delivered, but the end not reported: a
   * cursor at the end. Finished: the whole next epoch. With as many ranks as before the cursor is
   * that of the epoch, at the saved position, in the time that {@link Cursor#seek} takes; with
   * another number it is {@link DistributedSampler#resume}, where positions count from the start of
   * the rank's part of the rest.
   *
   * @param sampler the plan that saved the state, of any rank and world size
   * @return the cursor
   * @throws ResumeMismatchException if the plan differs from the one that saved the state
   * @throws IllegalArgumentException if more was delivered than the plan has
   * @throws IllegalStateException if the order needs more memory than the machine has now
   */
  public ResumableCursor resume(Sampler sampler) {
    requireSamePlan(order(sampler));
    if (finished) {
      return ResumableCursor.open(sampler, epoch + 1);
    }
    if (segments.isEmpty()) {
      return ResumableCursor.open(sampler, epoch);
    }
    requireSameOrder(digest(sampler, epoch, segments.get(0).worldSize()));
    return ResumableCursor.resume(sampler, this);
  }

  /**
   * Opens a cursor over batches that goes on where the state was taken. The caller owns and closes
   * it.
   *
   * <p>As in {@link #resume(Sampler)}; see {@link BatchSampler#resume} for the positions.
   *
   * @param sampler the plan that saved the state, of any rank and world size
   * @return the cursor
   * @throws ResumeMismatchException if the plan differs from the one that saved the state
   * @throws IllegalArgumentException if more was delivered than the plan has, or the number of
   *     ranks has changed and the plan cannot divide the rest
   */
  public ResumableBatchCursor resumeBatches(BatchSampler sampler) {
    requireSamePlan(sampler.order());
    if (finished) {
      return ResumableBatchCursor.open(sampler, epoch + 1);
    }
    if (segments.isEmpty()) {
      return ResumableBatchCursor.open(sampler, epoch);
    }
    requireSameOrder(digest(sampler, epoch, segments.get(0).worldSize()));
    return ResumableBatchCursor.resume(sampler, this);
  }

  /**
   * This state when the end of the epoch has been reported.
   *
   * @return the state from which the next epoch is resumed
   */
  public SamplerState asFinished() {
    return new SamplerState(plan, epoch, List.of(), true, orderDigest);
  }

  /**
   * The state as JSON text, one line.
   *
   * @return the text; {@link #fromJson} gives an equal state
   */
  public String toJson() {
    return StateJson.write(this);
  }

  /**
   * The state of a JSON text.
   *
   * @param json what {@link #toJson} returned; fields may come in another order, with white space
   * @return the state
   * @throws IllegalArgumentException if the text is no JSON object, a field is missing, unknown,
   *     double or wrong, or the version is not known
   */
  public static SamplerState fromJson(String json) {
    return StateJson.read(json);
  }

  /**
   * The state as bytes, with a checksum.
   *
   * @return a new array; {@link #fromBytes} gives an equal state
   */
  public byte[] toBytes() {
    return StateBytes.write(this);
  }

  /**
   * The state of a sequence of bytes.
   *
   * @param bytes what {@link #toBytes} returned
   * @return the state
   * @throws IllegalArgumentException if the bytes are damaged, too few or too many, or the version
   *     is not known
   */
  public static SamplerState fromBytes(byte[] bytes) {
    return StateBytes.read(bytes);
  }

  static PlanParameters order(Sampler sampler) {
    return sampler instanceof DistributedSampler part ? part.order() : sampler.parameters();
  }

  static int worldSize(Sampler sampler) {
    return sampler instanceof DistributedSampler part ? part.worldSize() : 1;
  }

  static int rank(Sampler sampler) {
    return sampler instanceof DistributedSampler part ? part.rank() : 0;
  }

  /** What each rank of a plan delivered since its division. */
  static Segment segment(Sampler sampler, long position) {
    return new Segment(worldSize(sampler), position);
  }

  static long digest(Sampler sampler, long epoch) {
    return digest(sampler, epoch, worldSize(sampler));
  }

  private static long digest(Sampler sampler, long epoch, int worldSize) {
    return digest(order(sampler), epoch, Probes.of(sampler, epoch, worldSize));
  }

  static long digest(BatchSampler sampler, long epoch, int worldSize) {
    return digest(sampler.order(), epoch, Probes.of(sampler, epoch, worldSize));
  }

  private static long digest(PlanParameters plan, long epoch, long[] probes) {
    long digest =
        Mix64.foldAll(DIGEST_VERSION, Mix64.fnv1a(plan.kind()), Mix64.fnv1a(plan.digest()), epoch);
    for (long probe : probes) {
      digest = Mix64.fold(digest, probe);
    }
    return digest;
  }

  static void requirePosition(long position, long size) {
    if (position < 0 || position > size) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(size, position));
    }
  }

  private void requireSamePlan(PlanParameters present) {
    requireSame("kind", plan.kind(), present.kind());
    Map<String, String> saved = plan.values();
    Set<String> names = new LinkedHashSet<>(saved.keySet());
    names.addAll(present.values().keySet());
    for (String name : names) {
      requireSame(
          name, saved.getOrDefault(name, "none"), present.values().getOrDefault(name, "none"));
    }
  }

  private void requireSameOrder(long present) {
    requireSame("order digest", hex(orderDigest), hex(present));
  }

  private static void requireSame(String parameter, String saved, String present) {
    if (!saved.equals(present)) {
      throw new ResumeMismatchException(parameter, saved, present);
    }
  }

  static String hex(long digest) {
    return HexFormat.of().toHexDigits(digest);
  }
}
