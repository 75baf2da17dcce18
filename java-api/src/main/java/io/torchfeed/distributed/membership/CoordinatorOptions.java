// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.TimeLimit;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How many ranks an elastic job may have, and how long the coordinator waits for them. Immutable.
 */
public final class CoordinatorOptions {
  private static final Duration DEFAULT_SILENCE = Duration.ofSeconds(1);
  private static final Duration DEFAULT_START = Duration.ofSeconds(30);
  private static final Duration DEFAULT_REPLACEMENT = Duration.ofMinutes(5);
  private static final Duration DEFAULT_RETURN = Duration.ofMinutes(1);

  private final int minRanks;
  private final int maxRanks;
  private final Duration silence;
  private final Duration start;
  private final Duration replacement;
  private final Duration back;
  private final @Nullable JobSecret secret;

  private CoordinatorOptions(
      int minRanks,
      int maxRanks,
      Duration silence,
      Duration start,
      Duration replacement,
      Duration back,
      @Nullable JobSecret secret) {
    this.minRanks = minRanks;
    this.maxRanks = maxRanks;
    this.silence = silence;
    this.start = start;
    this.replacement = replacement;
    this.back = back;
    this.secret = secret;
  }

  /**
   * Returns options for a number of ranks.
   *
   * @param minRanks at least 1; with fewer, training waits for replacements
   * @param maxRanks at least {@code minRanks}; more ranks wait as spares until one is lost
   * @return the options
   */
  public static CoordinatorOptions of(int minRanks, int maxRanks) {
    if (minRanks < 1 || maxRanks < minRanks) {
      throw new IllegalArgumentException(
          "ranks must be 1 <= minRanks <= maxRanks, got %d and %d".formatted(minRanks, maxRanks));
    }
    return new CoordinatorOptions(
        minRanks,
        maxRanks,
        DEFAULT_SILENCE,
        DEFAULT_START,
        DEFAULT_REPLACEMENT,
        DEFAULT_RETURN,
        null);
  }

  /**
   * Returns these options with a limit after which a rank that gives no sign of life is expelled; 1
   * second by default. A process that is only slow gives signs: they are sent by a thread of its
   * own. If the coordinator was stopped, or its machine is overloaded, so that it or this rank was
   * late shortly before, the rank is asked first, and expelled if it has not answered after ten
   * times the limit.
   *
   * @param silence at least 20 ms
   * @return the options
   */
  public CoordinatorOptions withSilence(Duration silence) {
    if (TimeLimit.of("silence", silence).toMillis() < 20 || silence.toMillis() > 86_400_000) {
      throw new IllegalArgumentException("silence must be in [20 ms, 1 day], got " + silence);
    }
    return new CoordinatorOptions(minRanks, maxRanks, silence, start, replacement, back, secret);
  }

  /**
   * Returns these options with a limit after which the first generation starts with fewer than
   * {@code maxRanks}; 30 seconds by default, from the first rank that is ready.
   *
   * @param start at least 0
   * @return the options
   */
  public CoordinatorOptions withStart(Duration start) {
    Duration limit = TimeLimit.notNegative("start", start);
    return new CoordinatorOptions(minRanks, maxRanks, silence, limit, replacement, back, secret);
  }

  /**
   * Returns these options with a limit after which a job fails that has fewer than {@code
   * minRanks}; 5 minutes by default.
   *
   * @param replacement at least 0
   * @return the options
   */
  public CoordinatorOptions withReplacement(Duration replacement) {
    Duration limit = TimeLimit.notNegative("replacement", replacement);
    return new CoordinatorOptions(minRanks, maxRanks, silence, start, limit, back, secret);
  }

  /**
   * Returns these options with a limit after which a rank is expelled that has not left a broken
   * generation; 1 minute by default. It must be longer than a step and the work between two steps,
   * such as an evaluation.
   *
   * @param back at least 1 ms
   * @return the options
   */
  public CoordinatorOptions withReturn(Duration back) {
    Duration limit = TimeLimit.atLeastOneMilli("back", back);
    return new CoordinatorOptions(minRanks, maxRanks, silence, start, replacement, limit, secret);
  }

  /**
   * Returns these options with a secret that a process must know to join. By default there is none:
   * every process that reaches the coordinator's port and knows the name of the job takes part, and
   * gets the model. A {@link io.torchfeed.distributed.launch.Launcher} sets one.
   *
   * @param secret that the ranks know, too
   * @return the options
   */
  public CoordinatorOptions withSecret(JobSecret secret) {
    requireNonNull(secret, "secret");
    return new CoordinatorOptions(minRanks, maxRanks, silence, start, replacement, back, secret);
  }

  /**
   * Returns the secret without which no process joins.
   *
   * @return the secret; empty if there is none
   */
  public Optional<JobSecret> secret() {
    return Optional.ofNullable(secret);
  }

  /**
   * Returns the least number of ranks that train.
   *
   * @return at least 1
   */
  public int minRanks() {
    return minRanks;
  }

  /**
   * Returns the greatest number of ranks that train.
   *
   * @return at least {@link #minRanks}
   */
  public int maxRanks() {
    return maxRanks;
  }

  Duration silence() {
    return silence;
  }

  Duration start() {
    return start;
  }

  Duration replacement() {
    return replacement;
  }

  Duration back() {
    return back;
  }

  @Override
  public String toString() {
    return "CoordinatorOptions[ranks=%d:%d, silence=%s, start=%s, replacement=%s, return=%s, %s]"
        .formatted(
            minRanks,
            maxRanks,
            silence,
            start,
            replacement,
            back,
            secret == null ? "no secret" : "a secret");
  }
}
