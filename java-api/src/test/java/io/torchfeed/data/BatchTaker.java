// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;

/** A subscriber that requests some batches, and then none or one at a time. */
final class BatchTaker implements Flow.Subscriber<Batch> {
  final List<Long> seen = new CopyOnWriteArrayList<>();
  final CountDownLatch first = new CountDownLatch(1);
  final CompletableFuture<String> end = new CompletableFuture<>();
  final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
  private final int column;
  private final long demand;
  private final boolean askForMore;

  /**
   * Creates a subscriber.
   *
   * @param column an int64 column; the first value of each batch is recorded
   * @param demand the number of batches to request first
   * @param askForMore whether to request another batch on receiving one
   */
  BatchTaker(int column, long demand, boolean askForMore) {
    this.column = column;
    this.demand = demand;
    this.askForMore = askForMore;
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    this.subscription.complete(subscription);
    subscription.request(demand);
  }

  @Override
  public void onNext(Batch batch) {
    seen.add(Rows.longs(batch.tensor(column))[0]);
    first.countDown();
    if (askForMore) {
      subscription.join().request(1);
    }
  }

  @Override
  public void onError(Throwable failure) {
    end.complete(String.valueOf(failure.getMessage()));
  }

  @Override
  public void onComplete() {
    end.complete("complete");
  }
}
