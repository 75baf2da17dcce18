// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Those that get the events of a job: the coordinator's process, and members that asked for it. */
final class Watchers {
  /** Puts the events of a job together from messages of its coordinator. */
  static final class Receiver {
    private final List<String> processes = new ArrayList<>(); // of the thread that reads
    private volatile Consumer<CoordinatorEvent> watcher = event -> {};

    void setWatcher(Consumer<CoordinatorEvent> watcher) {
      this.watcher = watcher;
    }

    /** Takes a message; returns false if it is about something else. */
    boolean takes(Message message) {
      if (message instanceof Message.Names names) {
        processes.addAll(names.processes());
        return true;
      } else if (message instanceof Message.Event event) {
        List<String> named = List.copyOf(processes);
        processes.clear();
        watcher.accept(new CoordinatorEvent(event.kind(), event.generation(), event.text(), named));
        return true;
      }
      return false;
    }
  }

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
