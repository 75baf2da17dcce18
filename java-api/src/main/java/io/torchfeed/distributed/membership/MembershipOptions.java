// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.TimeLimit;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Which job a process {@linkplain Membership#join joins}, and under which name. Immutable: each
 * {@code with} method returns new options.
 */
public final class MembershipOptions {
  private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

  private final String job;
  private final String name;
  private final @Nullable JobSecret secret;
  private final Duration timeout;

  private MembershipOptions(String job, String name, @Nullable JobSecret secret, Duration timeout) {
    this.job = job;
    this.name = name;
    this.secret = secret;
    this.timeout = timeout;
  }

  /**
   * Returns the default options.
   *
   * @return a job without a name and a secret, this process named by its id, and a timeout of 30
   *     seconds
   */
  public static MembershipOptions defaults() {
    return new MembershipOptions(
        CoordinatorOptions.UNNAMED_JOB,
        "process " + ProcessHandle.current().pid(),
        null,
        DEFAULT_TIMEOUT);
  }

  /**
   * Returns these options with the name of a job; a coordinator of another job is not joined.
   *
   * @param job the name that the coordinator has by {@link CoordinatorOptions#withJob}
   * @return the options
   */
  public MembershipOptions withJob(String job) {
    return new MembershipOptions(requireNonNull(job, "job"), name, secret, timeout);
  }

  /**
   * Returns these options with another name of this process in messages.
   *
   * @param name for example a host and a process id
   * @return the options
   */
  public MembershipOptions withName(String name) {
    return new MembershipOptions(job, requireNonNull(name, "name"), secret, timeout);
  }

  /**
   * Returns these options with the secret of the job.
   *
   * @param secret this process joins no coordinator that does not know it
   * @return the options
   */
  public MembershipOptions withSecret(JobSecret secret) {
    return new MembershipOptions(job, name, requireNonNull(secret, "secret"), timeout);
  }

  /**
   * Returns these options with another limit on the wait for the coordinator to listen.
   *
   * @param timeout at least 0
   * @return the options
   * @throws IllegalArgumentException if it is below 0
   */
  public MembershipOptions withTimeout(Duration timeout) {
    return new MembershipOptions(job, name, secret, TimeLimit.notNegative("timeout", timeout));
  }

  String job() {
    return job;
  }

  String name() {
    return name;
  }

  @Nullable JobSecret secret() {
    return secret;
  }

  Duration timeout() {
    return timeout;
  }

  @Override
  public String toString() {
    return "MembershipOptions[job=%s, name=%s, timeout=%s, %s]"
        .formatted(job, name, timeout, secret == null ? "no secret" : "a secret");
  }
}
