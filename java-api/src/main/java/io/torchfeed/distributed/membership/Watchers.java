// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Those that get the events of a job: the coordinator's process, and members that asked for it. */
final class Watchers {
  private final Consumer<CoordinatorEvent> here;
  private final Roster.Wire wire;
  private final Set<Long> elsewhere = new LinkedHashSet<>();
  private @Nullable CoordinatorEvent lastFormed;

  Watchers(Consumer<CoordinatorEvent> here, Roster.Wire wire) {
    this.here = here;
    this.wire = wire;
  }

  void note(CoordinatorEvent event) {
    if (event.kind() == CoordinatorEvent.Kind.FORMED) {
      lastFormed = event;
    }
    here.accept(event);
    elsewhere.forEach(id -> send(id, event));
  }

  /** Adds a member, which gets the event of the current generation at once. */
  void add(long id) {
    if (elsewhere.add(id) && lastFormed != null) {
      send(id, lastFormed);
    }
  }

  void remove(long id) {
    elsewhere.remove(id);
  }

  private void send(long id, CoordinatorEvent event) {
    Message.Names.of(event.processes()).forEach(names -> wire.send(id, names));
    wire.send(id, new Message.Event(event.kind(), event.generation(), event.text()));
  }
}
