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

  /** Begins the event of a reducer's operation; returns null if no recording wants it. */
  public static @Nullable Reduction beginReduction() {
    boolean isWanted = FlightRecorder.isInitialized() && Types.REDUCTION.isEnabled();
    return isWanted ? LoaderEvents.begun(new Reduction()) : null;
  }

  /** The fields common to all events of groups. */
  @Category({"torchfeed", "Group"})
  @StackTrace(false)
  abstract static class OfGroup extends Event {
    @Label("Operation")
    @Nullable String operation;

    @Label("Rank")
    int rank;

    @Label("Ranks")
    int ranks;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Label("Failed")
    boolean failed;

    /**
     * Ends the operation.
     *
     * @param name the name in messages
     * @param ownRank the rank of this process among {@code worldSize}
     * @param ownBytes the size of this rank's tensors
     * @param hasFailed whether it throws
     */
    public void finish(String name, int ownRank, int worldSize, long ownBytes, boolean hasFailed) {
      end();
      if (shouldCommit()) {
        operation = name;
        rank = ownRank;
        ranks = worldSize;
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
