// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Puts the events of a job together from messages of its coordinator. */
final class EventReceiver {
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
