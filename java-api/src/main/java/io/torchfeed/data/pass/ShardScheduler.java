// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.task.StreamShard;
import io.torchfeed.data.task.StreamTask;
import java.util.ArrayList;
import java.util.Arrays;

/** A scheduler of the batches of a rank's shards, which take turns. */
final class ShardScheduler implements PrefetchScheduler {
  private final BatchEngine engine;
  private final ShardSource source;
  private final long epoch;
  private final StreamShard[] shards;

  // Guarded by this. Only the consumer modifies delivered.
  private final LoaderState.ShardPosition[] delivered; // by index in shards
  private final ArrayList<StreamTask> inFlight = new ArrayList<>();
  private long requests;
  private int turn; // index in shards of the next batch to request
  private int next; // index in shards of the next batch to deliver
  private long position;

  ShardScheduler(BatchEngine engine, ShardSource source, StreamStart start) {
    this.engine = engine;
    this.source = source;
    this.epoch = start.epoch();
    this.delivered = start.positions().toArray(LoaderState.ShardPosition[]::new);
    this.shards =
        start.positions().stream()
            .map(shard -> new StreamShard(source.dataset(), epoch, shard))
            .toArray(StreamShard[]::new);
    this.turn = start.next();
    this.next = start.next();
    this.position = start.batches();
    this.requests = start.batches();
  }

  @Override
  public synchronized void requestUpTo(int atMost) {
    int over = 0;
    while (inFlight.size() < atMost && over < shards.length) {
      StreamShard shard = shards[turn];
      // It does not matter when the end is noticed: an empty batch is left out.
      if (shard.isOver()) {
        over++;
      } else {
        over = 0;
        StreamTask task =
            new StreamTask(epoch, requests, shard, source.batchSize(), source.dropLast());
        inFlight.ensureCapacity(inFlight.size() + 1);
        engine.request(task);
        requests++;
        inFlight.add(task);
      }
      turn = (turn + 1) % shards.length;
    }
  }

  @Override
  public boolean isOver(int prefetch) {
    while (true) {
      requestUpTo(prefetch);
      if (isNoneInFlight()) {
        return true;
      }
      long dropped = engine.dropIfNothing(due());
      if (dropped == BatchEngine.NO_REQUEST) {
        return false;
      }
      remove(dropped);
    }
  }

  private synchronized boolean isNoneInFlight() {
    return inFlight.isEmpty();
  }

  /** Notes that a request is no longer in flight; returns its task. */
  private synchronized StreamTask remove(long request) {
    return inFlight.remove(place(request));
  }

  private int place(long request) {
    for (int i = 0; i < inFlight.size(); i++) {
      if (inFlight.get(i).batch == request) {
        return i;
      }
    }
    throw new IllegalStateException("batch " + request + " arrived without being requested");
  }

  @Override
  public synchronized String end() {
    return "epoch %d has %d batches for this rank".formatted(epoch, position);
  }

  @Override
  public void throwIfDue() {}

  @Override
  public synchronized long due() {
    return position;
  }

  @Override
  public synchronized void identify(LoadedBatch loaded) {
    StreamTask task = inFlight.get(place(loaded.batch));
    loaded.identify(epoch, position, task.samples());
  }

  @Override
  public synchronized void deliver(LoadedBatch loaded) {
    StreamTask task = remove(loaded.batch);
    if (loaded.failure == null && !loaded.hasRows()) {
      return;
    }
    position++;
    if (task.after != null) {
      int place = placeOfShard(task.shardNumber());
      delivered[place] = task.after;
      next = (place + 1) % shards.length;
    }
  }

  private int placeOfShard(int shard) {
    int place = 0;
    while (shards[place].number() != shard) {
      place++;
    }
    return place;
  }

  @Override
  public void release(LoadedBatch batch) {}

  @Override
  public synchronized long position() {
    return position;
  }

  @Override
  public synchronized LoaderState state(boolean isEndReported) {
    LoaderState.ShardPosition[] positions = delivered.clone();
    if (isEndReported) {
      Arrays.setAll(positions, i -> shards[i].position());
    }
    return new LoaderState.StreamState(
        source.dataset().parameters(),
        epoch,
        source.dataset().shards(),
        Arrays.asList(positions),
        shards[next].number(),
        position,
        isEndReported && Arrays.stream(positions).allMatch(LoaderState.ShardPosition::isEnded));
  }

  @Override
  public LoaderState stateAt(long at) {
    throw new IllegalStateException(
        "earlier states are known only of loaders with a sampler, not over a stream");
  }

  /** Returns false: streams have no padding. */
  @Override
  public boolean isPadding(long batch, int element) {
    return false;
  }

  /** Returns 0: the order of a stream takes no time. */
  @Override
  public long samplingNanos() {
    return 0;
  }

  @Override
  public void finish() {}

  @Override
  public void close() {
    for (StreamShard shard : shards) {
      shard.close();
    }
  }
}
