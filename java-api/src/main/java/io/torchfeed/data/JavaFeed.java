// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.Slab;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The engine for datasets that are Java code: each worker makes the samples of one batch in a slab
 * of its own. There are as many slabs as batches asked for and one at the consumer; a slab that a
 * tensor still views is left to it.
 */
final class JavaFeed implements Feed {
  /** How long samples that are being made have from an interrupt on, when a pass is left. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** How long they have when the feed is closed. */
  private static final long LAST_PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final JavaFeedOptions options;

  // What follows belongs to the holder of the lock.
  private final ReentrantLock lock = new ReentrantLock();
  private final DozingCondition queueChanged = new DozingCondition(lock, true); // workers wait
  private final DozingCondition taskEnded; // others wait
  private final Deque<FillTask> queue = new ArrayDeque<>(); // not begun
  private final Deque<FillTask> asked = new ArrayDeque<>(); // not taken
  private final FeedCrew crew = new FeedCrew();
  private final SlabPool slabs; // nobody's
  private @Nullable Slab current; // the consumer's
  private final ConsumerWork own;
  private final TensorVectors vectors = new TensorVectors();
  private long epoch;
  private boolean interrupted;
  private long interruptedAt;
  private boolean closed;

  JavaFeed(JavaFeedOptions options) {
    this.options = options;
    this.taskEnded =
        new DozingCondition(lock, options.workers() < Runtime.getRuntime().availableProcessors());
    this.slabs = new SlabPool(options.layout(), options.batchRows());
    this.own = new ConsumerWork(options);
  }

  @Override
  public void pinFor(String device) {
    slabs.pinFor(device);
  }

  @Override
  public boolean rewind(long newEpoch) {
    lock.lock();
    try {
      disturb();
      sendHome(PATIENCE_NANOS);
      epoch = newEpoch;
      interrupted = false;
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void disturb() {
    if (!interrupted) {
      interrupted = true;
      interruptedAt = System.nanoTime();
    }
    queue.clear();
    crew.cancel();
    own.cancel();
    taskEnded.wakeAll();
  }

  /** Gives up workers that do not come back in time. */
  private void sendHome(long patienceNanos) {
    awaitIdle(interruptedAt + patienceNanos - System.nanoTime());
    crew.dismissBusy();
    for (FillTask task : asked) {
      if (task.done) {
        task.dropMade();
        takeBack(task.slab);
      }
    }
    asked.clear();
    takeBackCurrent();
  }

  private void awaitIdle(long patienceNanos) {
    long start = System.nanoTime();
    long waited = 0;
    boolean wasInterrupted = false;
    while (waited < patienceNanos && crew.isBusy()) {
      try {
        taskEnded.await(waited, patienceNanos - waited);
      } catch (InterruptedException e) {
        wasInterrupted = true;
      }
      waited = System.nanoTime() - start;
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void request(long batch, long[] indices, int size) {
    lock.lock();
    try {
      takeBackCurrent(); // for this batch, at best
      request(new FillTask(epoch, batch, indices, size));
    } finally {
      lock.unlock();
    }
  }

  /** Asks for a batch, which is made when those before it that it depends on are done. */
  void request(FillTask task) {
    lock.lock();
    try {
      asked.add(task);
      if (options.workers() > 0) {
        try {
          queue.add(task);
        } catch (OutOfMemoryError e) {
          asked.removeLast();
          throw e;
        }
        if (2 * queue.size() >= asked.size()) {
          queueChanged.wakeOne(); // naps may be late
        } else {
          queueChanged.changedForOne();
        }
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void start() {
    lock.lock();
    try {
      if (!closed) {
        crew.fillUp(
            options.workers(),
            () -> new FeedWorker(this, options.workerNumbers().getAndIncrement()));
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Gathered take(long due) {
    lock.lock();
    try {
      takeBackCurrent();
      FillTask first = asked.peek();
      if (first == null) {
        throw new IllegalStateException("no batch was asked for");
      }
      FillTask task = make(first);
      asked.remove(task);
      return result(task);
    } finally {
      lock.unlock();
    }
  }

  private FillTask make(FillTask first) {
    if (options.workers() > 0) {
      return await(first);
    }
    if (!first.done) {
      fillHere(first);
    }
    return first;
  }

  /**
   * Waits for the batch that {@link #take} would take, and leaves it and the one before it.
   *
   * @throws LoaderTimeoutException if it takes too long
   * @throws IllegalStateException if the feed was interrupted
   */
  void awaitNext() {
    lock.lock();
    try {
      make(asked.element());
    } finally {
      lock.unlock();
    }
  }

  /** Drops the batch that was waited for. */
  void dropNext() {
    lock.lock();
    try {
      FillTask task = asked.remove();
      task.dropMade();
      takeBack(task.slab);
    } finally {
      lock.unlock();
    }
  }

  /** Waits for {@code first} or, without order, for any. */
  private FillTask await(FillTask first) {
    Duration timeout = options.timeout();
    long most = timeout == null ? Long.MAX_VALUE : timeout.toNanos();
    long start = System.nanoTime();
    long waited = 0;
    boolean wasInterrupted = false;
    try {
      while (true) {
        requireUndisturbed();
        FillTask ready = takeable(first);
        if (ready != null) {
          return ready;
        }
        if (waited >= most && timeout != null) {
          throw new LoaderTimeoutException(first.epoch, first.batch, timeout, crew.describe());
        }
        if (waited == 0 && !queue.isEmpty()) {
          queueChanged.wakeOne(); // as workers do
        }
        try {
          taskEnded.await(waited, most - waited);
        } catch (InterruptedException e) {
          wasInterrupted = true; // the consumer's own business: it sees it after the batch
        }
        waited = System.nanoTime() - start;
      }
    } finally {
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private @Nullable FillTask takeable(FillTask first) {
    if (options.inOrder()) {
      return first.done ? first : null;
    }
    for (FillTask task : asked) {
      if (task.done) {
        return task;
      }
    }
    return null;
  }

  private void requireUndisturbed() {
    if (interrupted || closed) {
      throw new IllegalStateException("the feed was interrupted");
    }
  }

  private void fillHere(FillTask task) {
    boolean wasInterrupted = own.begin(task);
    lock.unlock();
    try {
      own.run(task, this::slab);
    } finally {
      lock.lock();
      own.end(task, wasInterrupted);
    }
    if (interrupted || closed) {
      task.dropMade();
      takeBack(task.slab);
      asked.clear();
    }
    requireUndisturbed();
  }

  private Gathered result(FillTask task) {
    Slab slab = task.slab;
    if (task.failure != null || task.error != null || slab == null) {
      task.dropMade();
      takeBack(slab);
      return Gathered.failed(task.batch, failureOf(task));
    }
    current = slab;
    int[] elements = task.elements == null ? null : Arrays.copyOf(task.elements, task.rows);
    BatchLayout layout = options.layout();
    if (task.made != null) {
      return Gathered.of(task.batch, task.made, task.rows, elements);
    }
    if (layout.isPlain()) {
      Tensor[] views = vectors.filled(vector -> slab.views(task.rows, vector));
      return Gathered.of(task.batch, views, task.rows, task.rows * layout.rowBytes(), elements);
    }
    return Gathered.of(
        task.batch, layout.tensors(slab, task.rows, task.lengths), task.rows, elements);
  }

  private RuntimeException failureOf(FillTask task) {
    if (task.failure != null) {
      return task.failure;
    }
    return new IllegalStateException(
        "batch %d of epoch %d, of at most %d rows, could not be made: %s"
            .formatted(task.batch, task.epoch, options.batchRows(), task.error),
        task.error);
  }

  /** What a worker does until it is sent home. */
  void work(FeedWorker worker) {
    boolean begun = false;
    Throwable cannotBegin = null;
    try {
      options.hooks().start(worker.number());
      begun = true;
    } catch (Throwable e) {
      cannotBegin = e;
    }
    lock.lock();
    try {
      worker.beginning = false;
    } finally {
      lock.unlock();
    }
    SampleWriter writer = new SampleWriter(options.layout());
    for (FillTask task = nextTask(worker); task != null; task = nextTask(worker)) {
      try {
        if (cannotBegin == null) {
          task.fill(slab(), options, writer);
        } else {
          task.error = cannotBegin;
        }
      } catch (Throwable e) {
        task.error = e;
      }
      endTask(worker, task);
    }
    if (begun) {
      options.stopQuietly(worker.number());
    }
  }

  private @Nullable FillTask nextTask(FeedWorker worker) {
    lock.lock();
    try {
      FillTask task = awaitReady(worker);
      Thread.interrupted(); // of a task that is over
      if (task == null || closed || worker.dismissed) {
        return null;
      }
      queue.remove(task);
      task.setRunning(true);
      worker.current = task;
      return task;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable FillTask firstReady() {
    for (FillTask task : queue) {
      if (task.isReady()) {
        return task;
      }
    }
    return null;
  }

  /** A task to fill, or null for a worker that goes home; called by the holder of the lock. */
  private @Nullable FillTask awaitReady(FeedWorker worker) {
    FillTask task = firstReady();
    if (task != null) {
      return task;
    }
    LoaderEvents.SlabWait event = LoaderEvents.beginSlabWait();
    FillTask oldest = asked.peek();
    if (oldest != null && takeable(oldest) != null) {
      taskEnded.wakeAll(); // whoever waits has the time to wake others
    }
    long start = System.nanoTime();
    while (task == null && !closed && !worker.dismissed) {
      try {
        queueChanged.await(System.nanoTime() - start, Long.MAX_VALUE);
      } catch (InterruptedException e) {
        // of a task that is over
      }
      task = firstReady();
    }
    if (event != null) {
      event.tell(worker.number());
    }
    return task;
  }

  private void endTask(FeedWorker worker, FillTask task) {
    lock.lock();
    try {
      worker.current = null;
      task.setRunning(false); // another may be ready now, which the worker that ended this one sees
      task.done = true;
      if (task.cancelled || worker.dismissed || closed) {
        task.dropMade();
        takeBack(task.slab);
        task.slab = null;
      }
      taskEnded.changedForAll();
    } finally {
      lock.unlock();
    }
  }

  private Slab slab() {
    lock.lock();
    try {
      Slab free = slabs.poll();
      if (free != null) {
        return free;
      }
    } finally {
      lock.unlock();
    }
    return slabs.allocate();
  }

  @Override
  public int ready() {
    lock.lock();
    try {
      int ready = 0;
      for (FillTask task : asked) {
        ready += task.done ? 1 : 0;
      }
      return ready;
    } finally {
      lock.unlock();
    }
  }

  private void takeBackCurrent() {
    takeBack(current);
    current = null;
  }

  private void takeBack(@Nullable Slab slab) {
    if (slab == null) {
      return;
    }
    if (closed) {
      slab.close();
    } else {
      slabs.giveBack(slab);
    }
  }

  @Override
  public boolean isReady() {
    lock.lock();
    try {
      FillTask next = asked.peek();
      return next != null && takeable(next) != null;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long slabBytes() {
    return Slab.bytes(options.layout().slabColumns(), options.batchRows());
  }

  @Override
  public void interrupt() {
    lock.lock();
    try {
      disturb();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    List<FeedWorker> leaving;
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      leaving = crew.list();
      crew.interruptBeginning();
      queueChanged.wakeAll();
      disturb();
      sendHome(LAST_PATIENCE_NANOS);
      slabs.clear();
    } finally {
      lock.unlock();
    }
    own.stop();
    vectors.close();
    // Those that are in a sample that does not end are left behind; they free what they hold.
    FeedCrew.joinBriefly(leaving, interruptedAt + LAST_PATIENCE_NANOS);
  }
}
