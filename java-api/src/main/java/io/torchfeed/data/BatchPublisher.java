// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import java.util.concurrent.Flow;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A publisher of the batches of an epoch, with one pass and one thread for each subscriber. */
final class BatchPublisher implements Flow.Publisher<Batch> {
  private final Supplier<Batches> passes;

  /** Creates a publisher of the passes that a supplier opens. */
  BatchPublisher(Supplier<Batches> passes) {
    this.passes = passes;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super Batch> subscriber) {
    requireNonNull(subscriber, "subscriber");
    Batches pass;
    try {
      pass = passes.get();
    } catch (RuntimeException e) {
      subscriber.onSubscribe(new Refused());
      subscriber.onError(e);
      return;
    }
    Subscription subscription = new Subscription(pass, subscriber);
    Thread thread = new Thread(subscription, "torchfeed-publisher");
    thread.setDaemon(true);
    thread.start();
  }

  /** The subscription to a pass that could not be opened. */
  private static final class Refused implements Flow.Subscription {
    @Override
    public void request(long n) {}

    @Override
    public void cancel() {}
  }

  /** The subscription that runs one subscriber's pass. */
  private static final class Subscription implements Flow.Subscription, Runnable {
    private static final long LOOK_MILLIS = 100;

    private final Batches pass;
    private final Flow.Subscriber<? super Batch> subscriber;
    private final Object lock = new Object();
    private long demand;
    private boolean cancelled;
    private @Nullable IllegalArgumentException wrongDemand;

    Subscription(Batches pass, Flow.Subscriber<? super Batch> subscriber) {
      this.pass = pass;
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
      pass.close();
    }

    @Override
    public void run() {
      Throwable failure = null;
      try {
        subscriber.onSubscribe(this);
        while (!isCancelled() && pass.hasNext()) { // throws once the pass is closed
          if (takeDemand()) {
            subscriber.onNext(pass.next());
          }
        }
      } catch (RuntimeException | Error e) {
        failure = e;
      } finally {
        pass.close(); // first, so that nothing is left when the subscriber is notified of the end
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

    /** Waits briefly for demand, and takes one batch of it; returns false if there is none. */
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
