// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.RankConsistency;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.SamplerState;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The source of the batches of a batch sampler. */
public record IndexSource(BatchSampler plan, long datasetSize, boolean inOrder)
    implements PassSource {
  private static final long[] NONE = {};

  @Override
  public int maxBatchSize() {
    return plan.maxBatchSize();
  }

  @Override
  public Start at(long epoch, long fromBatch) {
    long count = plan.batches(epoch);
    if (fromBatch < 0 || fromBatch > count) {
      throw new IllegalArgumentException(
          "fromBatch must be in [0, %d], got %d".formatted(count, fromBatch));
    }
    IndexStart start = new IndexStart(() -> ResumableCursor.open(plan, epoch), NONE);
    return start.checked(
        cursor -> {
          if (fromBatch > 0) {
            cursor.seek(fromBatch);
          }
        });
  }

  @Override
  public Start at(List<? extends LoaderState> states) {
    if (states.size() != 1 || !(states.get(0) instanceof LoaderState.IndexState state)) {
      throw new IllegalArgumentException(
          "a loader with a sampler resumes from a single state of such a loader, of any rank; got "
              + PassSource.kinds(states));
    }
    long[] ahead = state.deliveredAhead().stream().mapToLong(Long::longValue).toArray();
    IndexStart start = new IndexStart(() -> state.sampler().resume(plan), ahead);
    return start.checked(cursor -> requireAhead(ahead, state.sampler(), cursor));
  }

  private void requireAhead(long[] ahead, SamplerState state, ResumableCursor.OfBatches cursor) {
    if (ahead.length == 0) {
      return;
    }
    for (EpochSegment segment : state.segments()) {
      if (segment.worldSize() != plan.part().worldSize()) {
        throw new IllegalArgumentException(
            "deliveredAhead is valid only for the world size %d that saved it, got a plan for %d"
                .formatted(segment.worldSize(), plan.part().worldSize()));
      }
    }
    long before = cursor.position();
    long end = before + cursor.remaining();
    for (long batch : ahead) {
      if (batch <= before || batch >= end) {
        throw new IllegalArgumentException(
            "deliveredAhead must ascend in [%d, %d), got %d after %d"
                .formatted(cursor.position() + 1, end, batch, before));
      }
      before = batch;
    }
  }

  @Override
  public long batches(long epoch) {
    return plan.batches(epoch);
  }

  @Override
  public void verifyRanks(long epoch, RankConsistency.AllGather gather) {
    RankConsistency.beforeEpoch(plan, epoch, gather);
  }

  private final class IndexStart implements Start {
    private final Supplier<ResumableCursor.OfBatches> opener;
    private final ResumableCursor.OfBatches cursor;
    private final long[] deliveredBefore;

    IndexStart(Supplier<ResumableCursor.OfBatches> opener, long[] deliveredBefore) {
      this.opener = opener;
      this.cursor = opener.get();
      this.deliveredBefore = deliveredBefore;
    }

    /** Returns this start after a check or a move of its cursor, which is closed if that fails. */
    Start checked(Consumer<ResumableCursor.OfBatches> check) {
      boolean isSound = false;
      try {
        check.accept(cursor);
        isSound = true;
      } finally {
        if (!isSound) {
          cursor.close();
        }
      }
      return this;
    }

    @Override
    public long epoch() {
      return cursor.epoch();
    }

    @Override
    public long batch() {
      return cursor.position();
    }

    @Override
    public PrefetchScheduler scheduler(BatchEngine engine, int maxInFlight) {
      return new IndexScheduler(
          engine, cursor, opener, deliveredBefore, IndexSource.this, maxInFlight);
    }

    @Override
    public void close() {
      cursor.close();
    }
  }
}
