// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** What a flight recording shows of loaders. The settings are in {@code torchfeed.jfc}. */
final class LoaderEvents {
  private static final EventType SAMPLE = EventType.getEventType(Sample.class);
  private static final EventType WAIT = EventType.getEventType(BatchWait.class);
  private static final EventType GATHER = EventType.getEventType(Gather.class);

  private LoaderEvents() {}

  /** Whether a recording wants to have each sample. */
  static boolean showsSamples() {
    return SAMPLE.isEnabled();
  }

  /** A wait that begins now, or null if no recording wants it: then it costs no memory either. */
  static @Nullable BatchWait beginWait() {
    if (!WAIT.isEnabled()) {
      return null;
    }
    BatchWait event = new BatchWait();
    event.begin();
    return event;
  }

  /** A gather that begins now, or null if no recording wants it. */
  static @Nullable Gather beginGather() {
    if (!GATHER.isEnabled()) {
      return null;
    }
    Gather event = new Gather();
    event.begin();
    return event;
  }

  /** What all have in common. */
  @Category({"torchfeed", "Loader"})
  @StackTrace(false)
  abstract static class OfBatch extends Event {
    @Label("Epoch")
    long epoch;

    @Label("Batch")
    @Description("Number of the batch in its epoch")
    long batch;
  }

  /** The consumer waits for a batch. */
  @Name("io.torchfeed.BatchWait")
  @Label("Batch Wait")
  @Description("A consumer takes a batch: its wait for the rows, or the making of them")
  static final class BatchWait extends OfBatch {
    @Label("Rows")
    long rows;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Label("Ready")
    @Description("Batches that were ready when this one was taken")
    int ready;

    /** Ends the wait for a batch. */
    void tell(long ofEpoch, Gathered gathered, int readyBatches) {
      end();
      if (shouldCommit()) {
        epoch = ofEpoch;
        batch = gathered.batch;
        rows = gathered.rows();
        bytes = gathered.bytes();
        ready = readyBatches;
        commit();
      }
    }
  }

  /** A worker makes a batch. */
  @Name("io.torchfeed.Gather")
  @Label("Gather")
  @Description("Rows are brought into the memory of a batch; by native workers in Gather Time")
  static final class Gather extends OfBatch {
    @Label("Rows")
    long rows;

    @Label("Gather Time")
    @Timespan
    long gatherTime;

    /** Ends the gather. */
    void tell(long ofEpoch, long number, long gatheredRows, long nanos) {
      end();
      if (shouldCommit()) {
        epoch = ofEpoch;
        batch = number;
        rows = gatheredRows;
        gatherTime = nanos;
        commit();
      }
    }
  }

  /** Java code makes a sample. */
  @Name("io.torchfeed.Sample")
  @Label("Sample")
  @Description("A dataset makes a sample")
  @Enabled(false)
  static final class Sample extends OfBatch {
    @Label("Index")
    long index;
  }

  /** A batch is copied to a device. */
  @Name("io.torchfeed.Transfer")
  @Label("Transfer")
  @Description("A batch is handed to the copy stream of a device")
  static final class Transfer extends OfBatch {
    @Label("Bytes")
    @DataAmount
    long bytes;

    /** Ends the handing over of a batch. */
    void tell(long ofEpoch, Gathered rows) {
      end();
      if (shouldCommit()) {
        epoch = ofEpoch;
        batch = rows.batch;
        bytes = rows.bytes();
        commit();
      }
    }
  }

  /** A worker has no memory to fill. */
  @Name("io.torchfeed.SlabWait")
  @Label("Slab Wait")
  @Description("A worker waits until the consumer takes a batch and so makes room for another")
  @Category({"torchfeed", "Loader"})
  @StackTrace(false)
  static final class SlabWait extends Event {
    @Label("Worker")
    int worker;
  }
}
