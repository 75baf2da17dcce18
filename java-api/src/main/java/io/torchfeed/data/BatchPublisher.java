// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** The batches of an epoch, one pass for each subscriber, each on a thread of its own. */
record BatchPublisher(DataLoader loader, long epoch) implements Flow.Publisher<Batch> {
  @Override
  public void subscribe(Flow.Subscriber<? super Batch> subscriber) {
    requireNonNull(subscriber, "subscriber");
    Batches pass;
    try {
      pass = loader.epoch(epoch);
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
      try (pass) {
        subscriber.onSubscribe(this);
        while (awaitDemand()) {
          subscriber.onNext(pass.next());
        }
        if (!isCancelled()) {
          subscriber.onComplete();
        }
      } catch (RuntimeException | Error e) {
        if (!isCancelled()) {
          subscriber.onError(e);
        }
      }
    }

    private boolean isCancelled() {
      synchronized (lock) {
        return cancelled;
      }
    }

    /** Waits until a batch is wanted; false if there is none, or none is wanted any more. */
    private boolean awaitDemand() {
      synchronized (lock) {
        while (!cancelled && pass.hasNext()) {
          if (wrongDemand != null) {
            throw wrongDemand;
          }
          if (demand > 0) {
            demand--;
            return true;
          }
          try {
            lock.wait(LOOK_MILLIS); // whether the pass is still open
          } catch (InterruptedException e) {
            throw new IllegalStateException("the thread of the subscriber was interrupted", e);
          }
        }
        return false;
      }
    }
  }
}
