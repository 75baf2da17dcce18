// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/**
 * What a flight recording shows of loaders. The settings are in {@code torchfeed.jfc}.
 *
 * <p>An event is made only if a recording wants it. Until there was any recording no class of an
 * event is touched: the first one costs a process more than a tenth of a second.
 */
final class LoaderEvents {
  /** The types, once there is a recorder. */
  private static final class Types {
    static final EventType SAMPLE = EventType.getEventType(Sample.class);
    static final EventType WAIT = EventType.getEventType(BatchWait.class);
    static final EventType GATHER = EventType.getEventType(Gather.class);
    static final EventType TRANSFER = EventType.getEventType(Transfer.class);
    static final EventType SLAB_WAIT = EventType.getEventType(SlabWait.class);
  }

  private LoaderEvents() {}

  /** Whether a recording wants to have each sample. */
  static boolean showsSamples() {
    return FlightRecorder.isInitialized() && Types.SAMPLE.isEnabled();
  }

  /** A sample that begins now, of a batch that {@link #showsSamples}. */
  static Sample beginSample() {
    return begun(new Sample());
  }

  /** A wait that begins now, or null if no recording wants it. */
  static @Nullable BatchWait beginWait() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.WAIT.isEnabled();
    return isWanted ? begun(new BatchWait()) : null;
  }

  /** A gather that begins now, or null if no recording wants it. */
  static @Nullable Gather beginGather() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.GATHER.isEnabled();
    return isWanted ? begun(new Gather()) : null;
  }

  /** A transfer that begins now, or null if no recording wants it. */
  static @Nullable Transfer beginTransfer() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.TRANSFER.isEnabled();
    return isWanted ? begun(new Transfer()) : null;
  }

  /** A worker's wait that begins now, or null if no recording wants it. */
  static @Nullable SlabWait beginSlabWait() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.SLAB_WAIT.isEnabled();
    return isWanted ? begun(new SlabWait()) : null;
  }

  private static <E extends Event> E begun(E event) {
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
        rows = gathered.rows;
        bytes = gathered.bytes;
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

    /** Ends the making of a sample. */
    void tell(long ofEpoch, long number, long ofIndex) {
      end();
      if (shouldCommit()) {
        epoch = ofEpoch;
        batch = number;
        index = ofIndex;
        commit();
      }
    }
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
        bytes = rows.bytes;
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

    /** Ends a worker's wait. */
    void tell(int number) {
      end();
      if (shouldCommit()) {
        worker = number;
        commit();
      }
    }
  }
}
