// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

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
 * The events of loaders in a flight recording. The settings are in {@code torchfeed.jfc}.
 *
 * <p>An event is created only if a recording wants it. No event class is touched before the first
 * recording: the first one costs a process more than a tenth of a second.
 */
public final class LoaderEvents {
  /** The event types; initialized only once there is a recorder. */
  private static final class Types {
    static final EventType SAMPLE = EventType.getEventType(Sample.class);
    static final EventType WAIT = EventType.getEventType(BatchWait.class);
    static final EventType GATHER = EventType.getEventType(Gather.class);
    static final EventType TRANSFER = EventType.getEventType(Transfer.class);
    static final EventType SLAB_WAIT = EventType.getEventType(SlabWait.class);
  }

  private LoaderEvents() {}

  /** Returns whether a recording wants every sample. */
  public static boolean showsSamples() {
    return FlightRecorder.isInitialized() && Types.SAMPLE.isEnabled();
  }

  /** Begins a sample event; only if {@link #showsSamples}. */
  public static Sample beginSample() {
    return begun(new Sample());
  }

  /** Begins a wait event; returns null if no recording wants it. */
  public static @Nullable BatchWait beginWait() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.WAIT.isEnabled();
    return isWanted ? begun(new BatchWait()) : null;
  }

  /** Begins a gather event; returns null if no recording wants it. */
  public static @Nullable Gather beginGather() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.GATHER.isEnabled();
    return isWanted ? begun(new Gather()) : null;
  }

  /** Begins a transfer event; returns null if no recording wants it. */
  public static @Nullable Transfer beginTransfer() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.TRANSFER.isEnabled();
    return isWanted ? begun(new Transfer()) : null;
  }

  /** Begins a worker's wait event; returns null if no recording wants it. */
  public static @Nullable SlabWait beginSlabWait() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.SLAB_WAIT.isEnabled();
    return isWanted ? begun(new SlabWait()) : null;
  }

  static <E extends Event> E begun(E event) {
    event.begin();
    return event;
  }

  /** The fields common to all events of batches. */
  @Category({"torchfeed", "Loader"})
  @StackTrace(false)
  abstract static class OfBatch extends Event {
    @Label("Epoch")
    long epoch;

    @Label("Batch")
    @Description("Number of the batch in its epoch")
    long batch;
  }

  /** The consumer's wait for a batch. */
  @Name("io.torchfeed.BatchWait")
  @Label("Batch Wait")
  @Description("A consumer takes a batch: its wait for the rows, or its loading of them")
  public static final class BatchWait extends OfBatch {
    @Label("Rows")
    long rows;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Label("Ready")
    @Description("Batches that were ready when this one was taken")
    int ready;

    /** Ends the wait for a batch. */
    public void finish(
        long ofEpoch, long number, long gatheredRows, long gatheredBytes, int readyBatches) {
      end();
      if (shouldCommit()) {
        epoch = ofEpoch;
        batch = number;
        rows = gatheredRows;
        bytes = gatheredBytes;
        ready = readyBatches;
        commit();
      }
    }
  }

  /** The filling of a batch by a worker. */
  @Name("io.torchfeed.Gather")
  @Label("Gather")
  @Description("Rows are copied into the memory of a batch; for native workers, see Gather Time")
  public static final class Gather extends OfBatch {
    @Label("Rows")
    long rows;

    @Label("Gather Time")
    @Timespan
    long gatherTime;

    /** Ends the gather. */
    public void finish(long ofEpoch, long number, long gatheredRows, long nanos) {
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

  /** The production of a sample by Java code. */
  @Name("io.torchfeed.Sample")
  @Label("Sample")
  @Description("A dataset produces a sample")
  @Enabled(false)
  public static final class Sample extends OfBatch {
    @Label("Index")
    long index;

    /** Ends a sample. */
    public void finish(long ofEpoch, long number, long ofIndex) {
      end();
      if (shouldCommit()) {
        epoch = ofEpoch;
        batch = number;
        index = ofIndex;
        commit();
      }
    }
  }

  /** The copy of a batch to a device. */
  @Name("io.torchfeed.Transfer")
  @Label("Transfer")
  @Description("A batch is handed to the copy stream of a device")
  public static final class Transfer extends OfBatch {
    @Label("Bytes")
    @DataAmount
    long bytes;

    /** Ends the transfer of a batch. */
    public void finish(long ofEpoch, long number, long sentBytes) {
      end();
      if (shouldCommit()) {
        epoch = ofEpoch;
        batch = number;
        bytes = sentBytes;
        commit();
      }
    }
  }

  /** A worker's wait for memory to fill. */
  @Name("io.torchfeed.SlabWait")
  @Label("Slab Wait")
  @Description("A worker waits until the consumer takes a batch and thereby makes room for another")
  @Category({"torchfeed", "Loader"})
  @StackTrace(false)
  public static final class SlabWait extends Event {
    @Label("Worker")
    int worker;

    /** Ends a worker's wait. */
    public void finish(int number) {
      end();
      if (shouldCommit()) {
        worker = number;
        commit();
      }
    }
  }
}
