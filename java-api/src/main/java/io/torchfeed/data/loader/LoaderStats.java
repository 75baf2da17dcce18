// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.task.LoaderFigures;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A snapshot of a loader's deliveries and times so far, over all its passes. Immutable. */
public final class LoaderStats {
  private final LoaderFigures figures;

  LoaderStats(LoaderFigures figures) {
    this.figures = figures;
  }

  /**
   * The sample or batch that took longest.
   *
   * @param what {@code "sample"} with its dataset index, or {@code "batch"} with its number
   * @param number the index or the number
   * @param epoch the epoch it was loaded for
   * @param time the time it took
   */
  public record Slowest(String what, long number, long epoch, Duration time) {
    /**
     * Creates a value of its components.
     *
     * @param what {@code "sample"} with its dataset index, or {@code "batch"} with its number
     * @param number the index or the number
     * @param epoch the epoch it was loaded for
     * @param time the time it took
     */
    public Slowest {
      requireNonNull(time, "time");
      requireNonNull(what, "what");
    }
  }

  /**
   * Returns the number of batches delivered.
   *
   * @return at least 0
   */
  public long batches() {
    return figures.batches();
  }

  /**
   * Returns the number of samples in these batches.
   *
   * @return at least 0
   */
  public long rows() {
    return figures.rows();
  }

  /**
   * Returns the number of bytes of the tensors of these batches.
   *
   * @return at least 0
   */
  public long bytes() {
    return figures.bytes();
  }

  /**
   * Returns the time in passes, from the opening of each to its last batch; concurrent passes each
   * count in full.
   *
   * @return the time
   */
  public Duration elapsed() {
    return figures.elapsed();
  }

  /**
   * Returns the part of {@link #elapsed} in which passes started: the time until the workers
   * received the first batches, plus the wait for the first batch beyond the time that loading it
   * took. It is long where libraries are loaded, threads are started or connections are opened.
   *
   * @return the time
   */
  public Duration starting() {
    return figures.starting();
  }

  /**
   * Returns the part of {@link #elapsed}, after the start, while {@link Batches#next} waited for
   * rows or, without workers, loaded them itself.
   *
   * @return the time
   */
  public Duration waited() {
    return figures.waited();
  }

  /**
   * Returns the part of {@link #elapsed} that the order took.
   *
   * @return the time
   */
  public Duration sampling() {
    return figures.sampling();
  }

  /**
   * Returns the time that workers spent filling or gathering batches.
   *
   * @return the sum over the workers
   */
  public Duration working() {
    return figures.working();
  }

  /**
   * Returns the time that the host spent handing batches to the copy stream of a device, with
   * {@link #awaitingDevice}.
   *
   * @return the time; zero without a device
   */
  public Duration transferring() {
    return figures.transferring();
  }

  /**
   * Returns the time, by the device's clock, that copies to a device have taken; the copy stream
   * was idle for the rest of {@link #elapsed}. Copies count once a later batch is taken. Of batches
   * of less than 4 MiB, one in eight is timed.
   *
   * @return the time; zero without a device, or if its events have no times
   */
  public Duration copying() {
    return figures.flow().copying();
  }

  /**
   * Returns the part of {@link #transferring} in which the host waited because the device was two
   * batches behind, with its copies or with the work before them.
   *
   * @return the time; zero without a device
   */
  public Duration awaitingDevice() {
    return figures.flow().awaitingDevice();
  }

  /**
   * Returns the part of {@link #waited} in which the consumer's thread took batches from workers
   * and received them on a device, without waiting, and without {@link #transferring}: a cost per
   * batch, whatever its size.
   *
   * @return the time; zero without workers and a device
   */
  public Duration handing() {
    return figures.flow().handing();
  }

  /**
   * Returns the time that workers waited while a batch was ready to be taken: the consumer, or the
   * device that it waits for, is slower. For the rest of their idle time they waited for requests.
   *
   * @return the sum over the workers
   */
  public Duration held() {
    return figures.flow().held();
  }

  /**
   * Returns the number of times that memory for a batch was allocated, page-locked for a device. It
   * is reused unless a tensor of an earlier batch keeps it. Not counted with {@link
   * DataLoaderBuilder#pinMemory()}, where libtorch's allocator reuses it.
   *
   * @return at least 0
   */
  public long freshSlabs() {
    return figures.flow().freshSlabs();
  }

  /**
   * Returns the number of worker threads per pass.
   *
   * @return at least 0
   */
  public int workers() {
    return figures.workers();
  }

  /**
   * Returns the number of batches requested ahead.
   *
   * @return at least 1
   */
  public int prefetch() {
    return figures.prefetch();
  }

  /**
   * Returns the average number of requested batches that were ready when one was taken.
   *
   * @return at least 0
   */
  public double ready() {
    return figures.ready();
  }

  /**
   * Returns the slowest sample or, where Java code does not produce samples one by one, the slowest
   * batch.
   *
   * @return the sample or batch; empty before the first one
   */
  public Optional<Slowest> slowest() {
    return figures
        .slowest()
        .map(most -> new Slowest(most.what(), most.number(), most.epoch(), most.time()));
  }

  /**
   * A sample that a batch lacks because it could not be loaded.
   *
   * @param index its dataset index
   * @param epoch the epoch
   * @param reason the exception, in one line
   */
  public record SkippedSample(long index, long epoch, String reason) {
    /**
     * Creates a value of its components.
     *
     * @param index its dataset index
     * @param epoch the epoch
     * @param reason the exception, in one line
     */
    public SkippedSample {
      requireNonNull(reason, "reason");
    }
  }

  /**
   * Returns the number of samples that {@link io.torchfeed.data.FailurePolicy#skipSample} left out
   * of the batches delivered.
   *
   * @return at least 0; a sample counts each time that it is left out
   */
  public long skipped() {
    return figures.skipped();
  }

  /**
   * Returns the first 100 samples that were left out.
   *
   * @return an unmodifiable list, in the order of the batches
   */
  public List<SkippedSample> skippedSamples() {
    return figures.firstSkipped().stream()
        .map(sample -> new SkippedSample(sample.index(), sample.epoch(), sample.reason()))
        .toList();
  }

  /**
   * Returns whether the samples are produced by Java code.
   *
   * @return true for a {@link io.torchfeed.data.Dataset} or {@link
   *     io.torchfeed.data.StreamDataset}, false for a {@link io.torchfeed.data.NativeDataset}
   */
  public boolean javaCode() {
    return figures.javaCode();
  }

  /**
   * Returns the samples per second of time in passes.
   *
   * @return the rate; 0 before the first batch
   */
  public double rowsPerSecond() {
    return rate(rows());
  }

  /**
   * Returns the bytes of tensors per second of time in passes.
   *
   * @return the rate; 0 before the first batch
   */
  public double bytesPerSecond() {
    return rate(bytes());
  }

  private double rate(long amount) {
    return elapsed().isZero() ? 0 : amount / LoaderReport.seconds(elapsed());
  }

  /**
   * Returns the fraction of the time in passes that was spent waiting for rows.
   *
   * @return in [0, 1]
   */
  public double waitShare() {
    return LoaderReport.share(waited(), elapsed());
  }

  /**
   * Returns the fraction of their time, after the start of passes, that workers were busy.
   *
   * @return in [0, 1]; 0 without workers
   */
  public double busyShare() {
    return workers() == 0
        ? 0
        : LoaderReport.share(working(), elapsed().minus(starting()).multipliedBy(workers()));
  }

  /**
   * Returns the stage whose speed-up would shorten an epoch most.
   *
   * @return the stage that the others wait for; the consumer while less than 2 % of the time is
   *     spent starting, sampling and waiting
   */
  public Bottleneck bottleneck() {
    return LoaderReport.bottleneck(this);
  }

  @Override
  @SuppressWarnings("exports") // the annotation is not needed at run time
  public boolean equals(@Nullable Object other) {
    return other instanceof LoaderStats that && figures.equals(that.figures);
  }

  @Override
  public int hashCode() {
    return figures.hashCode();
  }

  /** Returns one human-readable line. */
  @Override
  public String toString() {
    return LoaderReport.line(this);
  }

  /** The stage whose speed-up would shorten an epoch most. */
  public enum Bottleneck {
    /** The step between two batches: data arrives in time. */
    CONSUMER("the consumer: data arrives in time"),

    /** The start of passes: threads, libraries and connections. */
    START("the start of passes: keep the loader for all epochs, and make start hooks cheap"),

    /** The order: the sampler takes longer than the rows. */
    SAMPLER("the sampler: choose one that computes its order, or batches of more samples"),

    /** The code of a {@link io.torchfeed.data.Dataset}. */
    DATASET("the dataset: make its samples cheaper, or give the loader more workers"),

    /** The gathering of rows from memory or files. */
    GATHER("the gathering of rows: give the loader more workers, or store smaller rows"),

    /** The copy to the device. */
    TRANSFER("the transfer to the device: send smaller dtypes, and convert on the device"),

    /** The work on the device, which the copies to it wait for: its data arrives in time. */
    DEVICE("the work on the device: data arrives in time"),

    /** The thread that takes batches and starts their copies, one after the other. */
    HAND_OVER("the taking of batches, one by one: make them larger"),

    /** The memory of batches, which is new for most of them. */
    MEMORY("fresh memory for most batches: close the tensors of earlier ones, or copy them"),

    /** The wait for one batch, while those after it are ready and workers are idle. */
    PREFETCH("too little prefetch: workers are idle while the consumer waits"),

    /** The wait for batches, while workers have none to begin. */
    REQUESTS("too few batches at a time: make them smaller, or read more shards or longer epochs");

    private final String advice;

    Bottleneck(String advice) {
      this.advice = advice;
    }

    @Override
    public String toString() {
      return advice;
    }
  }
}
