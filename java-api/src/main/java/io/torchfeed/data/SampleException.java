// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Quotes;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Thrown in place of a batch when one of its samples could not be loaded; the cause is the
 * exception that the dataset threw, if any. The pass can continue with the following batch. The
 * message is one line; control characters, such as those in the name of a file, are escaped.
 */
public final class SampleException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The index that the sampler delivered. */
  private final long index;

  /** The epoch of the pass. */
  private final long epoch;

  /** The number of the batch in the epoch. */
  private final long batch;

  /** The worker that loaded the batch, or -1. */
  private final int worker;

  /**
   * Creates an exception without a cause for a sample of a batch that was not loaded by a JVM
   * worker.
   *
   * @param index the index of the sample in the dataset
   * @param epoch the epoch of the pass
   * @param batch the number of the batch in the epoch
   * @param problem the reason
   */
  public SampleException(long index, long epoch, long batch, String problem) {
    this(index, epoch, batch, requireNonNull(problem, "problem"), null);
  }

  /**
   * Creates an exception for a sample that native code could not load.
   *
   * @param index the index of the sample in the dataset
   * @param epoch the epoch of the pass
   * @param batch the number of the batch in the epoch
   * @param problem the reason
   * @param cause the exception of native code, or null
   */
  public SampleException(
      long index, long epoch, long batch, String problem, @Nullable Throwable cause) {
    super(
        "sample %d of epoch %d, batch %d: %s"
            .formatted(index, epoch, batch, Quotes.printable(requireNonNull(problem, "problem"))),
        cause);
    this.index = index;
    this.epoch = epoch;
    this.batch = batch;
    this.worker = -1;
  }

  /**
   * Creates an exception for a sample that Java code could not load.
   *
   * @param index the index of the sample in the dataset
   * @param epoch the epoch of the pass
   * @param batch the number of the batch in the epoch
   * @param worker the number of the worker
   * @param cause the exception of the code
   */
  public SampleException(long index, long epoch, long batch, int worker, Throwable cause) {
    super(
        "sample %d of epoch %d, batch %d, worker %d: %s"
            .formatted(
                index, epoch, batch, worker, Failures.describe(requireNonNull(cause, "cause"))),
        cause);
    this.index = index;
    this.epoch = epoch;
    this.batch = batch;
    this.worker = worker;
  }

  /**
   * Returns the index of the sample in the dataset.
   *
   * @return the index that the sampler delivered
   */
  public long index() {
    return index;
  }

  /**
   * Returns the epoch of the pass.
   *
   * @return the epoch
   */
  public long epoch() {
    return epoch;
  }

  /**
   * Returns the number of the batch in the epoch.
   *
   * @return the number of the batch, starting at 0
   */
  public long batch() {
    return batch;
  }

  /**
   * Returns the number of the worker that was loading the batch, as passed to {@link WorkerHooks}.
   *
   * @return the number; empty if native code was loading the sample, or the index is outside the
   *     dataset
   */
  public OptionalInt worker() {
    return worker < 0 ? OptionalInt.empty() : OptionalInt.of(worker);
  }
}
