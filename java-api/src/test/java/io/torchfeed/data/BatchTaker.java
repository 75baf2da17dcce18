// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;

/** A subscriber that takes some batches and then asks for no more, or for one at a time. */
final class BatchTaker implements Flow.Subscriber<Batch> {
  final List<Long> seen = new CopyOnWriteArrayList<>();
  final CountDownLatch first = new CountDownLatch(1);
  final CompletableFuture<String> end = new CompletableFuture<>();
  final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
  private final int column;
  private final long demand;
  private final boolean askForMore;

  /**
   * A subscriber.
   *
   * @param column of int64, whose first value of each batch it sees
   * @param demand how many batches it asks for at once
   * @param askForMore whether each batch makes it ask for another
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
