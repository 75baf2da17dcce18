// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.distributed.rendezvous.GroupCore;
import io.torchfeed.distributed.rendezvous.LossNote;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Averages weights in a thread of its own, at intervals of time, while the ranks train at their own
 * speed. Changes by training since the weights were copied are kept: {@code x := x +
 * average(copies) - copy}.
 *
 * <p>The thread reads and writes weights between training steps only, unlike Bagua's, which races
 * with the optimizer on a CPU. It has a group of its own, since the ranks exchange at other moments
 * than they train.
 *
 * <p>Source: Bagua, {@code AsyncModelAverageAlgorithm}.
 */
public final class AsynchronousExchange implements WeightExchange {
  private static final Duration LOOK = Duration.ofMillis(100);

  private final ProcessGroup group;
  private final ProcessGroup background;
  private final Tensor[] parameters;
  private final FlatTensors weights;
  private final Tensor copies;
  private final Duration interval;
  private final long warmupSteps;
  private final ReentrantLock betweenSteps = new ReentrantLock(true);
  private final AtomicLong exchanges = new AtomicLong();
  private @Nullable Averaging averaging;

  /**
   * Creates an exchange; a collective operation.
   *
   * @param parameters as the module has them, with gradients
   * @param weights the same, without; borrowed
   */
  public AsynchronousExchange(
      ProcessGroup group,
      Tensor[] parameters,
      FlatTensors weights,
      Duration interval,
      long warmupSteps) {
    this.group = group;
    this.background = group.split(0, group.rank());
    this.parameters = parameters;
    this.weights = weights;
    this.interval = interval;
    this.warmupSteps = warmupSteps;
    try (PointerScope scope = new PointerScope()) {
      copies = weights.values().clone().retainReference();
    }
  }

  @Override
  public void step(long step, Runnable pass, Runnable update) {
    if (step < warmupSteps) {
      pass.run();
      GradientMean.average(parameters, group);
      update.run();
      return;
    }
    GroupCore.OF_GROUP.of(group).requireOpen();
    started().requireAlive();
    betweenSteps.lock();
    try {
      pass.run();
      update.run();
    } finally {
      betweenSteps.unlock();
    }
  }

  @Override
  public void accumulate(Runnable pass) {
    betweenSteps.lock();
    try {
      pass.run();
    } finally {
      betweenSteps.unlock();
    }
  }

  private Averaging started() {
    if (averaging == null) {
      averaging = new Averaging();
      averaging.start();
    }
    return averaging;
  }

  /** Copies the weights, as they are between two steps. */
  public void copy() {
    betweenSteps.lock();
    try (PointerScope scope = new PointerScope()) {
      weights.load();
      copies.copy_(weights.values());
    } finally {
      betweenSteps.unlock();
    }
  }

  /** Adds the difference between the mean of all copies and this rank's copy to the weights. */
  public void apply(Tensor sum) {
    try (PointerScope scope = new PointerScope()) {
      sum.div_(new Scalar((float) group.size())).sub_(copies);
    }
    betweenSteps.lock();
    try {
      weights.addToSources();
    } finally {
      betweenSteps.unlock();
    }
    exchanges.incrementAndGet();
  }

  public Tensor sum() {
    return weights.values();
  }

  /**
   * Takes part in the end even without a step since the last one: other ranks may have had some.
   */
  @Override
  public void pause() {
    Averaging ending = started();
    ending.end();
    ending.requireAlive();
    averaging = null;
  }

  @Override
  public void abandon() {
    background.abort();
  }

  @Override
  public long exchanges() {
    return exchanges.get();
  }

  @Override
  public void resume(long exchanges) {
    this.exchanges.set(exchanges);
  }

  @Override
  public void close() {
    background.abort();
    if (averaging != null) {
      averaging.end();
    }
    background.close();
    copies.close();
  }

  /** The thread that averages, until all ranks have asked for its end. */
  private final class Averaging {
    private final Thread thread = new Thread(this::run, "torchfeed-averaging");
    private final CountDownLatch ending = new CountDownLatch(1);
    private volatile @Nullable Throwable failure;

    void start() {
      thread.setDaemon(true);
      thread.start();
    }

    private void run() {
      try {
        while (!isEndedByAll()) {
          copy();
          background.unchecked().allReduce(sum(), ReduceOp.SUM);
          apply(sum());
          ending.await(interval.toNanos(), TimeUnit.NANOSECONDS);
        }
      } catch (Throwable e) {
        if (failure == null) {
          failure = e; // thrown by the next step
        }
      }
    }

    private boolean isEndedByAll() {
      try (PointerScope scope = new PointerScope()) {
        Tensor isEnding = Tensor.create(ending.getCount() == 0 ? 1 : 0);
        background.unchecked().allReduce(isEnding, ReduceOp.MIN);
        return isEnding.item_int() == 1;
      }
    }

    /**
     * Waits until all ranks have asked for the end, regardless of interrupts; gives up at the
     * group's timeout, and when the group is closed or aborted.
     */
    void end() {
      ending.countDown();
      long start = System.nanoTime();
      boolean wasInterrupted = false;
      while (thread.isAlive()) {
        try {
          thread.join(LOOK.toMillis());
          GroupCore.OF_GROUP.of(group).requireOpen();
          if (thread.isAlive()
              && System.nanoTime() - start > GroupCore.OF_GROUP.of(group).timeout().toNanos()) {
            throw LossNote.lost(
                "average", start, OptionalInt.empty(), "not all ranks ended their averaging", null);
          }
        } catch (InterruptedException e) {
          wasInterrupted = true;
        } catch (RuntimeException e) {
          background.abort();
          failure = e;
        }
      }
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }

    void requireAlive() {
      Throwable e = failure;
      if (e instanceof PeerLostException || e instanceof IllegalStateException) {
        throw (RuntimeException) e;
      }
      if (e != null) {
        throw new IllegalStateException("averaging in the background failed: " + e, e);
      }
    }
  }
}
