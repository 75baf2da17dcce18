// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.LoaderInterruptedException;
import io.torchfeed.data.LoaderTimeoutException;
import io.torchfeed.data.task.BatchRequest;
import io.torchfeed.data.task.BatchTask;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.data.task.Worker;
import io.torchfeed.internal.LoaderEvents;
import io.torchfeed.memory.Slab;
import io.torchfeed.trace.ring.Kind;
import io.torchfeed.trace.ring.Recorder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The engine of JVM threads: each worker writes the samples of one batch into a slab of its own, or
 * lets native code gather them. There is one slab for each requested batch and one for the batch
 * that the consumer holds; a slab still referenced by a tensor is abandoned to it.
 *
 * <p>Any allocation may fail: results are created before the books are changed, which allocates
 * nothing. A call that fails can be repeated, and a worker that dies costs its batch only.
 */
final class JavaEngine implements BatchEngine {
  /** The time that samples may take after an interrupt when a pass is left. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The time that samples may take after an interrupt when the engine is closed. */
  private static final long LAST_PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final JavaEngineOptions options;
  private final HandOff handOff;
  private final HandOff.Waiter consumer;
  private final TaskResults results;
  private final HandOff.Waiter rewinder;
  private final HandOff.Waiter closer;
  private final Supplier<Slab> slabSource = this::slab;

  // Guarded by the monitor of handOff.
  private final TaskQueue tasks;
  private final Consumer<BatchTask> failing;
  private final Consumer<BatchTask> dropping = this::drop;
  private final WorkerPool pool;
  private final SlabPool slabs;
  private long epoch;
  private final Disturbance disturbance = new Disturbance();

  JavaEngine(JavaEngineOptions options) {
    this.options = options;
    handOff = new HandOff(options.workers() < Runtime.getRuntime().availableProcessors());
    consumer = handOff.consumer(this::isTakeOver);
    results = new TaskResults(options);
    tasks = new TaskQueue(options.inOrder(), options.workers());
    failing = tasks::fail;
    pool = new WorkerPool(options.workers(), options.content(), this::work);
    rewinder = handOff.consumer(() -> !pool.isBusy());
    closer = handOff.consumer(() -> !pool.isBusy());
    slabs = new SlabPool(options.content().layout(), options.batchRows());
  }

  @Override
  public void pinFor(String device, boolean once) {
    synchronized (handOff) {
      slabs.pinFor(device, once);
    }
  }

  @Override
  public boolean rewind(long newEpoch) {
    interrupt();
    awaitIdle(rewinder, PATIENCE_NANOS);
    synchronized (handOff) {
      dropAll();
      pool.reap(failing);
      pool.logDeath();
      epoch = newEpoch;
      disturbance.end();
      return true;
    }
  }

  @Override
  public void interrupt() {
    synchronized (handOff) {
      disturbance.begin();
      tasks.dropWaiting();
      pool.cancel();
      handOff.interrupt();
    }
  }

  /** Waits until no worker fills a batch, at most the given time from the interrupt. */
  private void awaitIdle(HandOff.Waiter waiter, long patienceNanos) {
    long left;
    synchronized (handOff) {
      left = disturbance.deadline(patienceNanos) - System.nanoTime();
    }
    waiter.awaitUninterruptibly(left);
  }

  /** Abandons workers that did not return in time, and drops all batches. */
  private void dropAll() {
    pool.dismissBusy();
    tasks.clear(dropping);
    slabs.takeBackLent();
  }

  private void drop(BatchTask task) {
    slabs.giveBack(task.drop());
  }

  @Override
  public void request(BatchRequest request) {
    synchronized (handOff) {
      slabs.takeBackLent(); // ideally reused for this batch
      tasks.add(task(request));
      handOff.submitted(tasks.isBehind());
    }
  }

  private BatchTask task(BatchRequest request) {
    return request instanceof BatchTask task
        ? task
        : requireNonNull(options.tasks()).apply((IndexRequest) request);
  }

  @Override
  public void start() {
    synchronized (handOff) {
      if (!disturbance.isLast()) {
        pool.reap(failing);
        pool.fillUp();
      }
    }
  }

  @Override
  public LoadedBatch take(long due) {
    long start = System.nanoTime();
    synchronized (handOff) {
      slabs.takeBackLent();
    }
    BatchTask task = await(due);
    synchronized (handOff) {
      LoadedBatch loaded = results.of(task, due);
      tasks.take(task);
      slabs.lend(loaded.hasRows() ? task.slab() : task.drop());
      long handing = System.nanoTime() - start - consumer.takeWaitedNanos();
      options.content().meter().taken(handing, tasks.takeHeldNanos(), slabs.takeFresh());
      return loaded;
    }
  }

  @Override
  public long dropIfNothing(long due) {
    BatchTask next = await(due);
    if (!next.isNothing()) {
      return NO_REQUEST;
    }
    synchronized (handOff) {
      drop(next);
      tasks.take(next);
    }
    return next.batch;
  }

  private BatchTask await(long due) {
    long timeout = timeoutNanos();
    long start = System.nanoTime();
    while (true) {
      BatchTask ready = options.workers() > 0 ? takeable() : filledHere();
      if (ready != null) {
        return ready;
      }
      boolean inTime;
      try {
        inTime = consumer.await(timeout - (System.nanoTime() - start));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new LoaderInterruptedException(due);
      }
      if (!inTime) {
        throw timedOut(due);
      }
    }
  }

  private long timeoutNanos() {
    Duration timeout = options.timeout();
    return timeout == null ? Long.MAX_VALUE : timeout.toNanos();
  }

  private LoaderTimeoutException timedOut(long due) {
    synchronized (handOff) {
      return new LoaderTimeoutException(
          epoch, due, requireNonNull(options.timeout()), pool.describe());
    }
  }

  /** Returns whether {@link #takeable} would not return null. The caller holds the monitor. */
  private boolean isTakeOver() {
    return disturbance.isOn() || tasks.takeable() != null || pool.isIncomplete();
  }

  private @Nullable BatchTask takeable() {
    synchronized (handOff) {
      disturbance.requireNone();
      tasks.first();
      if (pool.isIncomplete()) {
        pool.reap(failing);
        pool.fillUp();
      }
      pool.throwDeath();
      return tasks.takeable();
    }
  }

  private BatchTask filledHere() {
    Worker worker;
    BatchTask task;
    boolean wasInterrupted;
    synchronized (handOff) {
      disturbance.requireNone();
      task = tasks.first();
      if (task.isDone()) {
        return task;
      }
      worker = pool.ofConsumer();
      worker.begin(task);
      tasks.begin(task);
      wasInterrupted = Thread.interrupted();
    }
    try {
      worker.fill(task, slabSource);
    } finally {
      synchronized (handOff) {
        task.end();
        worker.end();
        passOnInterrupt(task, wasInterrupted);
      }
    }
    synchronized (handOff) {
      if (disturbance.isOn()) {
        tasks.clear(dropping);
        drop(task);
      }
      disturbance.requireNone();
    }
    return task;
  }

  /** An interrupt is meant for the consumer, unless the engine sent it. */
  private static void passOnInterrupt(BatchTask filled, boolean wasInterrupted) {
    boolean isInterrupted = Thread.interrupted() || filled.wasInterrupted();
    if (wasInterrupted || (isInterrupted && !filled.isCancelled())) {
      Thread.currentThread().interrupt();
    }
  }

  /** Runs a worker until it ends, normally or not. */
  private void work(Worker worker) {
    Throwable by = null;
    try {
      fillBatches(worker);
    } catch (Throwable e) {
      by = e;
    } finally {
      synchronized (handOff) {
        worker.endThread(by);
        handOff.interrupt(); // the consumer replaces it; another takes the task that woke it
      }
      worker.stop();
    }
  }

  private void fillBatches(Worker worker) {
    HandOff.Waiter waiter = handOff.worker(() -> isWaitOver(worker));
    worker.start();
    synchronized (handOff) {
      worker.endStart();
    }
    for (BatchTask task = next(worker, waiter); task != null; task = next(worker, waiter)) {
      worker.fill(task, slabSource);
      end(worker, task);
      if (!worker.isUsable()) {
        return;
      }
    }
  }

  private boolean isWaitOver(Worker worker) {
    return disturbance.isLast() || worker.isDismissed() || tasks.firstReady() != null;
  }

  private @Nullable BatchTask next(Worker worker, HandOff.Waiter waiter) {
    LoaderEvents.SlabWait event = null;
    long begun = 0;
    while (true) {
      synchronized (handOff) {
        Thread.interrupted(); // was meant for a batch that is over
        if (disturbance.isLast() || worker.isDismissed()) {
          return null;
        }
        BatchTask task = tasks.firstReady();
        if (task != null) {
          worker.begin(task); // first: a worker that dies from here on fails the batch
          tasks.begin(task);
          Recorder.end(begun, Kind.SLAB_WAIT, -1, 0, 0);
          if (event != null) {
            event.finish(worker.number());
          }
          return task;
        }
      }
      if (event == null) {
        event = LoaderEvents.beginSlabWait();
      }
      if (begun == 0) {
        begun = Recorder.begin();
      }
      waiter.awaitWork();
    }
  }

  private void end(Worker worker, BatchTask task) {
    synchronized (handOff) {
      tasks.end(task); // another task may be ready now, which this worker checks next
      if (task.isCancelled() || worker.isDismissed() || disturbance.isLast()) {
        drop(task);
      }
      worker.end(); // not before the task has ended: a worker may die in between
      handOff.completed();
    }
  }

  private Slab slab() {
    synchronized (handOff) {
      Slab free = slabs.poll();
      if (free != null) {
        return free;
      }
    }
    return slabs.allocate();
  }

  @Override
  public int ready() {
    synchronized (handOff) {
      return tasks.ready();
    }
  }

  @Override
  public boolean isReady() {
    synchronized (handOff) {
      return tasks.takeable() != null;
    }
  }

  @Override
  public long slabBytes() {
    return Slab.bytes(options.content().layout().slabColumns(), options.batchRows());
  }

  @Override
  public void close() {
    synchronized (handOff) {
      if (disturbance.isLast()) {
        return;
      }
      disturbance.beginLast();
      pool.beginLeaving();
    }
    interrupt();
    awaitIdle(closer, LAST_PATIENCE_NANOS);
    long end;
    synchronized (handOff) {
      dropAll();
      slabs.close();
      end = disturbance.deadline(LAST_PATIENCE_NANOS);
    }
    pool.stopConsumers();
    results.close();
    // Workers in a sample that does not return are abandoned; they free their objects.
    pool.joinBriefly(end);
  }
}
