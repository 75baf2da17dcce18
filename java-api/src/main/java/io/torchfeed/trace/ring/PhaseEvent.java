// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** A part of a step in a flight recording of the JDK; at its end, with its length. */
@Name("io.torchfeed.StepPhase")
@Label("Step Phase")
@Description("A training loop has ended a step, or a forward pass, backward or the update in it")
@Category({"torchfeed", "Loop"})
@StackTrace(false)
final class PhaseEvent extends Event {
  /** The event type; initialized only once there is a recorder. */
  private static final class Types {
    static final EventType PHASE = EventType.getEventType(PhaseEvent.class);
  }

  @Label("Phase")
  @Nullable String phase;

  @Label("Step")
  long step;

  @Label("Length")
  @Timespan
  long length;

  static boolean isWanted() {
    return FlightRecorder.isInitialized() && Types.PHASE.isEnabled();
  }

  static void add(String phase, long step, long nanos) {
    PhaseEvent event = new PhaseEvent();
    event.phase = phase;
    event.step = step;
    event.length = nanos;
    event.commit();
  }
}
