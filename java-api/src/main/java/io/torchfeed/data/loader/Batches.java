// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.pass.Abandoned;
import io.torchfeed.data.pass.Pass;
import java.lang.ref.Reference;
import java.util.Iterator;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.jspecify.annotations.Nullable;

/**
 * A pass over the batches of one epoch, which can be left at any batch.
 *
 * <p>One thread at a time takes the batches: a second thread that calls in while the first is
 * inside gets an {@link IllegalStateException}. A pass may be handed to another thread between two
 * batches; the thread that hands it over closes its batch first, or the memory of the batch is not
 * reused. {@link #close}, {@link #position}, {@link #state}, {@link #stateAt} and {@link
 * #waitNanos} may be called at any time by any thread, including by the code that loads the
 * samples. A batch is valid until the next one is taken, {@link #hasNext} has returned false, or
 * the pass is closed.
 *
 * <p>A pass that was read to its end returns its threads and memory by itself. A pass that becomes
 * unreachable before its end without being closed is closed when the garbage collector discovers
 * it; this is logged once per loader. {@link DataLoader#epoch(long)} describes when the collector
 * is asked to.
 */
// Implements both, since there is one sequence: for-each reads well, and next() alone is a step of
// a pipeline.
@SuppressWarnings("IterableAndIterator")
public final class Batches implements Iterable<Batch>, Iterator<Batch>, AutoCloseable {
  // Keeps the loader reachable while one of its passes is in use.
  private final DataLoader loader;
  private final Pass pass;
  private final Abandoned.Watch watch;
  private final Pass.Finish finish;

  /**
   * Creates the consumer's side of a pass.
   *
   * @param step the step that the batches go through, with the seed
   */
  Batches(DataLoader loader, Pass pass, Batch.@Nullable Step step, long seed) {
    this.loader = loader;
    this.pass = pass;
    this.watch = loader.watch(this, pass);
    this.finish = step == null ? loaded -> loaded : loaded -> afterStep(step, seed, loaded);
  }

  /**
   * Returns this pass itself: there is one sequence of batches, and a second iterator continues
   * where the first one is.
   */
  @Override
  public Iterator<Batch> iterator() {
    return this;
  }

  /**
   * Returns the remaining batches, as {@link #next} returns them. A batch is valid until the next
   * one is taken, so they cannot be collected, unless they are kept.
   *
   * @return a sequential stream, which closes this pass when it is closed
   */
  public Stream<Batch> stream() {
    return StreamSupport.stream(
            Spliterators.spliteratorUnknownSize(this, Spliterator.ORDERED | Spliterator.NONNULL),
            false)
        .onClose(this::close);
  }

  /**
   * Returns whether the epoch has another batch. Over a stream, waits until that is known. If there
   * is none, the current batch ends; otherwise it stays valid.
   *
   * @throws io.torchfeed.data.LoaderTimeoutException if a stream takes longer than the loader's
   *     timeout; the call can be repeated
   * @throws io.torchfeed.data.LoaderInterruptedException if the thread is interrupted while it
   *     waits for a stream; the call can be repeated
   * @throws io.torchfeed.data.LoaderWorkerException if a worker died; the call can be repeated
   * @throws IllegalStateException if the pass is closed, even while waiting, or another thread
   *     reads it
   */
  @Override
  public boolean hasNext() {
    try {
      return pass.hasNext();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Waits for the next batch: the next one of the order or, with {@link
   * DataLoaderBuilder#inOrder(boolean)} false, one that is ready. The batch before it ends.
   *
   * <p>An exception of the sampler is thrown here once the batches before it are delivered. The
   * call may be repeated and then calls the sampler again; if that fails at the same batch a second
   * time, the pass is over: {@link #hasNext} returns false, and {@link #state} describes where it
   * stopped.
   *
   * @throws java.util.NoSuchElementException if no batch is left
   * @throws io.torchfeed.data.SampleException if a sample of the batch cannot be loaded; the pass
   *     can continue with the next batch. In a stream, the next batch begins after the sample or,
   *     if the stream itself cannot continue, in another shard
   * @throws io.torchfeed.data.LoaderTimeoutException if the batch takes longer than the loader's
   *     timeout; the call can be repeated
   * @throws io.torchfeed.data.LoaderInterruptedException if the thread is interrupted while it
   *     waits for workers; the call can be repeated
   * @throws io.torchfeed.data.LoaderWorkerException if a worker died; the call can be repeated
   * @throws IllegalStateException if the batch could not be loaded for another reason, which is the
   *     cause, and the pass can continue with the next batch, also if the step of {@link
   *     DataLoaderBuilder#afterTransfer} threw it; or if the pass is closed, even while waiting, or
   *     another thread reads it
   * @throws OutOfMemoryError if the Java heap has no room for the batch or for one of these
   *     exceptions; nothing is lost, and the call can be repeated
   */
  @Override
  public Batch next() {
    try {
      return pass.next(finish, this::view);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private Batch view(LoadedBatch content) {
    return new Batch(this, content);
  }

  /**
   * Returns the batch to deliver in place of a loaded one, which ends.
   *
   * @throws Exception if the step fails; the loaded batch is left to the caller
   */
  private LoadedBatch afterStep(Batch.Step step, long seed, LoadedBatch loaded) throws Exception {
    LoadedBatch finished;
    try (PointerScope scope = new PointerScope();
        NoGradGuard guard = new NoGradGuard()) {
      finished = loaded.in(Batch.references(step.apply(new Batch(this, loaded), seed)));
    }
    loaded.close();
    return finished;
  }

  int column(String name) {
    return loader.column(name);
  }

  boolean isPadding(long batch, int element) {
    try {
      return pass.isPadding(batch, element);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Returns the epoch of this pass.
   *
   * @return the number of the epoch, at least 0; a resumed pass continues the epoch of its state,
   *     or begins the next
   */
  public long epoch() {
    return pass.epoch();
  }

  /**
   * Returns the number of batches of the epoch before the first one that was not delivered,
   * including the batches before the start of this pass. Over indexed samples {@link
   * DataLoader#epoch(long, long)} opens another pass that continues there.
   *
   * @return the number of batches
   */
  public long position() {
    return pass.position();
  }

  /**
   * Returns the time that {@link #next} and {@link #hasNext} have spent in this pass until rows
   * were available: waiting for the workers or, without workers, loading the rows.
   *
   * @return nanoseconds
   */
  public long waitNanos() {
    return pass.waitNanos();
  }

  /**
   * Returns the consumer's progress: {@link DataLoader#resume(LoaderState)} delivers the batches
   * not yet returned by {@link #next}, on any number of ranks and with any number of workers. Once
   * {@link #hasNext} has returned false at the end of the epoch, this is the state of the next
   * epoch; a shard of a stream that was given up continues where it stopped.
   *
   * @return an {@link LoaderState.IndexState} or, over a stream, a {@link LoaderState.StreamState};
   *     it must be saved before the next batch is taken
   * @throws IllegalStateException if the pass is closed
   */
  public LoaderState state() {
    try {
      return pass.state();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Returns the progress that {@link #state} would have returned earlier, without the cost of
   * asking for it then: for a training that returns to it because a step has failed. The batches
   * since then count as not delivered.
   *
   * @param position a result of {@link #position} in this pass
   * @return the state, not finished
   * @throws IllegalArgumentException if the position is not of this pass, or lies ahead
   * @throws IllegalStateException if the pass is closed, is over a stream, or its batches are not
   *     delivered in order
   */
  public LoaderState stateAt(long position) {
    try {
      return pass.stateAt(position);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** Leaves the epoch: unread batches are dropped, and the current one ends. Idempotent. */
  @Override
  public void close() {
    try {
      pass.close();
      watch.end();
    } finally {
      Reference.reachabilityFence(loader);
    }
  }
}
