// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.TimeLimit;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How many ranks an elastic job may have, how long the coordinator waits for them, and the job and
 * secret that they must know. Immutable: each {@code with} method returns new options.
 */
public final class CoordinatorOptions {
  private static final Duration DEFAULT_SILENCE = Duration.ofSeconds(1);
  private static final Duration DEFAULT_START = Duration.ofSeconds(30);
  private static final Duration DEFAULT_REPLACEMENT = Duration.ofMinutes(5);
  private static final Duration DEFAULT_RETURN = Duration.ofMinutes(1);

  /** The name of jobs that have none. */
  static final String UNNAMED_JOB = "unnamed";

  private final int minRanks;
  private final int maxRanks;
  private final Limits limits;
  private final @Nullable String job;
  private final @Nullable Consumer<CoordinatorEvent> events;
  private final @Nullable JobSecret secret;

  private record Limits(Duration silence, Duration start, Duration replacement, Duration back) {}

  private CoordinatorOptions(
      int minRanks,
      int maxRanks,
      Limits limits,
      @Nullable String job,
      @Nullable Consumer<CoordinatorEvent> events,
      @Nullable JobSecret secret) {
    this.minRanks = minRanks;
    this.maxRanks = maxRanks;
    this.limits = limits;
    this.job = job;
    this.events = events;
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
        new Limits(DEFAULT_SILENCE, DEFAULT_START, DEFAULT_REPLACEMENT, DEFAULT_RETURN),
        null,
        null,
        null);
  }

  private CoordinatorOptions with(Limits changed) {
    return new CoordinatorOptions(minRanks, maxRanks, changed, job, events, secret);
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
    return with(new Limits(silence, limits.start, limits.replacement, limits.back));
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
    return with(new Limits(limits.silence, limit, limits.replacement, limits.back));
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
    return with(new Limits(limits.silence, limits.start, limit, limits.back));
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
    return with(new Limits(limits.silence, limits.start, limits.replacement, limit));
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
    return new CoordinatorOptions(minRanks, maxRanks, limits, job, events, secret);
  }

  /**
   * Returns these options with the name of the job, which keeps ranks of other jobs out; by default
   * it has none.
   *
   * @param job ranks that {@linkplain MembershipOptions#withJob name} another one, or none, are
   *     refused
   * @return the options
   */
  public CoordinatorOptions withJob(String job) {
    requireNonNull(job, "job");
    return new CoordinatorOptions(minRanks, maxRanks, limits, job, events, secret);
  }

  /**
   * Returns these options with a consumer of the changes of the job: a log, for example.
   *
   * @param events called for each event, in the coordinator's thread: it must be quick. A {@link
   *     io.torchfeed.distributed.launch.Launcher} calls it in the thread of its {@code run}
   * @return the options
   */
  public CoordinatorOptions withEvents(Consumer<CoordinatorEvent> events) {
    requireNonNull(events, "events");
    return new CoordinatorOptions(minRanks, maxRanks, limits, job, events, secret);
  }

  /**
   * Returns the name of the job.
   *
   * @return the name; empty if it has none
   */
  public Optional<String> job() {
    return Optional.ofNullable(job);
  }

  /**
   * Returns the consumer of the changes of the job.
   *
   * @return the consumer; empty if there is none
   */
  public Optional<Consumer<CoordinatorEvent>> events() {
    return Optional.ofNullable(events);
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
    return limits.silence;
  }

  Duration start() {
    return limits.start;
  }

  Duration replacement() {
    return limits.replacement;
  }

  Duration back() {
    return limits.back;
  }

  @Override
  public String toString() {
    return "CoordinatorOptions[ranks=%d:%d, silence=%s, start=%s, replacement=%s, return=%s, %s]"
        .formatted(
            minRanks,
            maxRanks,
            limits.silence,
            limits.start,
            limits.replacement,
            limits.back,
            secret == null ? "no secret" : "a secret");
  }
}
