// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/**
 * The events of process groups and gradient reducers in a flight recording, created like {@link
 * LoaderEvents}.
 */
public final class GroupEvents {
  /** The event types; initialized only once there is a recorder. */
  private static final class Types {
    static final EventType COLLECTIVE = EventType.getEventType(Collective.class);
    static final EventType REDUCTION = EventType.getEventType(Reduction.class);
  }

  private GroupEvents() {}

  /** Begins the event of an operation; returns null if no recording wants it. */
  public static @Nullable Collective beginCollective() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.COLLECTIVE.isEnabled();
    return isWanted ? LoaderEvents.begun(new Collective()) : null;
  }

  /** Returns whether a recording wants the operations of reducers. */
  public static boolean showsReductions() {
    return FlightRecorder.isInitialized() && Types.REDUCTION.isEnabled();
  }

  /** Begins the event of a reducer's operation; returns null if no recording wants it. */
  public static @Nullable Reduction beginReduction() {
    return showsReductions() ? LoaderEvents.begun(new Reduction()) : null;
  }

  /**
   * An operation as events show it.
   *
   * @param operation the name in messages
   * @param rank the rank of this process among {@code ranks}
   * @param number the number among the operations of its kind in the group, or -1
   * @param step the step of the training, or -1 if that is unknown
   */
  public record Call(String operation, int rank, int ranks, long number, long step) {}

  /** The fields common to all events of groups. */
  @Category({"torchfeed", "Group"})
  @StackTrace(false)
  public abstract static class OfGroup extends Event {
    @Label("Operation")
    @Nullable String operation;

    @Label("Rank")
    int rank;

    @Label("Ranks")
    int ranks;

    @Label("Number")
    @Description("Number among the operations of its kind in the group, the same on all ranks")
    long number;

    @Label("Step")
    @Description("Step of the training loop, -1 if it is unknown; known while a trace is recorded")
    long step;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Label("Failed")
    boolean failed;

    OfGroup() {}

    /**
     * Ends the operation.
     *
     * @param ownBytes the size of this rank's tensors
     * @param hasFailed whether it throws
     */
    public void finish(Call call, long ownBytes, boolean hasFailed) {
      end();
      if (shouldCommit()) {
        operation = call.operation;
        rank = call.rank;
        ranks = call.ranks;
        number = call.number;
        step = call.step;
        bytes = ownBytes;
        failed = hasFailed;
        commit();
      }
    }
  }

  /** An operation of a group. */
  @Name("io.torchfeed.Collective")
  @Label("Collective")
  @Description("A rank takes part in an operation of its group; started ones end when awaited")
  public static final class Collective extends OfGroup {}

  /** An operation of a gradient reducer. */
  @Name("io.torchfeed.Reduction")
  @Label("Reduction")
  @Description("A model's reducer works, for example on a backward pass; bytes are sent gradients")
  public static final class Reduction extends OfGroup {}
}
