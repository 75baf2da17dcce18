// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.TimeLimit;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.regex.Pattern;

/**
 * The ranks that write a checkpoint together, into a folder that all of them see: each a part of
 * the tensors, and the state of its own.
 *
 * <pre>{@code
 * byte[] mine = UUID.randomUUID().toString().getBytes(StandardCharsets.US_ASCII);
 * String run = new String(group.broadcastBytes(mine, 0), StandardCharsets.US_ASCII);
 * Shards shards = Shards.of(group.part(), run);
 * checkpoints.saveInBackground(step, state, shards); // on every rank
 * }</pre>
 *
 * <p>Immutable: each {@code with} method returns a new object.
 */
public final class Shards {
  private static final Pattern RUN = Pattern.compile("[A-Za-z0-9_-]{1,64}");
  private static final Duration LIMIT = Duration.ofMinutes(10);

  private final Part part;
  private final String run;
  private final Duration limit;

  private Shards(Part part, String run, Duration limit) {
    this.part = part;
    this.run = run;
    this.limit = limit;
  }

  /**
   * Describes the ranks.
   *
   * @param part this rank among all of them
   * @param run 1 to 64 letters, digits, hyphens and underscores, the same on all ranks and another
   *     one in each run with this folder
   * @return the ranks, which wait 10 minutes for each other
   * @throws IllegalArgumentException if the name of the run is malformed
   */
  public static Shards of(Part part, String run) {
    requireNonNull(part, "part");
    if (!RUN.matcher(requireNonNull(run, "run")).matches()) {
      throw new IllegalArgumentException(
          "the name of a run must have 1 to 64 letters, digits, hyphens and underscores, got "
              + Quotes.shortened(run));
    }
    return new Shards(part, run, LIMIT);
  }

  /**
   * Returns these ranks with another limit.
   *
   * @param limit how long a rank waits until the others have written a checkpoint, at least 1 ms
   * @return the ranks
   * @throws IllegalArgumentException if the limit is less than a millisecond
   */
  public Shards withLimit(Duration limit) {
    return new Shards(part, run, TimeLimit.atLeastOneMilli("limit", limit));
  }

  /**
   * Returns this rank.
   *
   * @return its place among all ranks
   */
  public Part part() {
    return part;
  }

  String run() {
    return run;
  }

  Duration limit() {
    return limit;
  }
}
