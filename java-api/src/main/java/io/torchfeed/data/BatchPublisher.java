// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import java.util.Iterator;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The batches of an epoch, one pass for each subscriber, each on a thread of its own.
 *
 * @param <P> a pass
 */
final class BatchPublisher<P extends Iterator<Batch>> implements Flow.Publisher<Batch> {
  private final Supplier<P> passes;
  private final Consumer<P> closing;

  /**
   * A publisher.
   *
   * @param passes opens a pass
   * @param closing closes it, on any thread and more than once
   */
  BatchPublisher(Supplier<P> passes, Consumer<P> closing) {
    this.passes = passes;
    this.closing = closing;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super Batch> subscriber) {
    requireNonNull(subscriber, "subscriber");
    P pass;
    try {
      pass = passes.get();
    } catch (RuntimeException e) {
      subscriber.onSubscribe(new Refused());
      subscriber.onError(e);
      return;
    }
    Subscription subscription = new Subscription(pass, () -> closing.accept(pass), subscriber);
    Thread thread = new Thread(subscription, "torchfeed-publisher");
    thread.setDaemon(true);
    thread.start();
  }

  /** Of a pass that could not be opened. */
  private static final class Refused implements Flow.Subscription {
    @Override
    public void request(long n) {}

    @Override
    public void cancel() {}
  }

  /** One subscriber's pass. */
  private static final class Subscription implements Flow.Subscription, Runnable {
    private static final long LOOK_MILLIS = 100;

    private final Iterator<Batch> pass;
    private final Runnable closing;
    private final Flow.Subscriber<? super Batch> subscriber;
    private final Object lock = new Object();
    private long demand;
    private boolean cancelled;
    private @Nullable IllegalArgumentException wrongDemand;

    Subscription(
        Iterator<Batch> pass, Runnable closing, Flow.Subscriber<? super Batch> subscriber) {
      this.pass = pass;
      this.closing = closing;
      this.subscriber = subscriber;
    }

    @Override
    public void request(long n) {
      synchronized (lock) {
        if (n < 1) {
          wrongDemand =
              new IllegalArgumentException("a request must be for at least 1 batch, got " + n);
        } else {
          demand = n > Long.MAX_VALUE - demand ? Long.MAX_VALUE : demand + n;
        }
        lock.notifyAll();
      }
    }

    @Override
    public void cancel() {
      synchronized (lock) {
        cancelled = true;
        lock.notifyAll();
      }
      closing.run();
    }

    @Override
    public void run() {
      Throwable failure = null;
      try {
        subscriber.onSubscribe(this);
        while (!isCancelled() && pass.hasNext()) { // which throws once the pass is closed
          if (takeDemand()) {
            subscriber.onNext(pass.next());
          }
        }
      } catch (RuntimeException | Error e) {
        failure = e;
      } finally {
        closing.run(); // first, so that nothing is left when the subscriber hears of the end
      }
      if (isCancelled()) {
        return;
      }
      if (failure == null) {
        subscriber.onComplete();
      } else {
        subscriber.onError(failure);
      }
    }

    private boolean isCancelled() {
      synchronized (lock) {
        return cancelled;
      }
    }

    /** Waits a while for a batch to be wanted; false if none is by then. */
    private boolean takeDemand() {
      synchronized (lock) {
        if (demand == 0 && !cancelled && wrongDemand == null) {
          await();
        }
        if (wrongDemand != null) {
          throw wrongDemand;
        }
        if (cancelled || demand == 0) {
          return false;
        }
        demand--;
        return true;
      }
    }

    @SuppressWarnings("WaitNotInLoop") // the caller's caller is the loop
    private void await() {
      try {
        lock.wait(LOOK_MILLIS);
      } catch (InterruptedException e) {
        throw new IllegalStateException("the thread of the subscriber was interrupted", e);
      }
    }
  }
}
