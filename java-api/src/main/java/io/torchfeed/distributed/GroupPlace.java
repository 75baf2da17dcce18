// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.distributed.rendezvous.Environment;
import io.torchfeed.distributed.rendezvous.GroupCore;
import io.torchfeed.distributed.rendezvous.LastWords;
import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.distributed.rendezvous.StoreConnection;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The place of this process in a group, with the native group and the store; owns both. */
final class GroupPlace implements AutoCloseable, KeyValueStore.Server {
  private final Environment environment;
  private final GroupCore core;
  private final String networkInterface;
  private final String prefix;
  private final OptionalInt server;
  private final GroupOptions options;
  private final AtomicBoolean isReleased = new AtomicBoolean();
  private @Nullable StoreConnection store;

  /**
   * Takes a place in a group.
   *
   * @param server the rank whose process serves the store; empty if it is none of the group's
   */
  GroupPlace(
      Rendezvous.Joined joined,
      Environment environment,
      String networkInterface,
      OptionalInt server,
      GroupOptions options) {
    this.environment = environment;
    this.networkInterface = networkInterface;
    this.server = server;
    this.options = options;
    core = GroupCore.of(joined, environment.part(), options.timeout());
    prefix = joined.prefix();
    store = joined.store();
  }

  Environment environment() {
    return environment;
  }

  /** Returns the name of the network interface of connections; empty: any. */
  String networkInterface() {
    return networkInterface;
  }

  GroupCore core() {
    return core;
  }

  GroupOptions options() {
    return options;
  }

  /** Returns the way of operations into the group. */
  GroupCalls calls(boolean isChecked) {
    return new GroupCalls(core, isChecked);
  }

  /** Returns a key of the group in the store. */
  String key(String name) {
    return prefix + name;
  }

  /** Returns the values whose keys have a prefix in the group. */
  KeyValueStore values(String name) {
    return values(name, core.timeout());
  }

  /** Returns the values whose keys have a prefix in the group, for calls with another limit. */
  KeyValueStore values(String name, Duration limit) {
    return new KeyValueStore(store(), key(name), this, limit);
  }

  @Override
  public OptionalInt rank() {
    return server.equals(OptionalInt.of(environment.rank())) ? OptionalInt.empty() : server;
  }

  @Override
  public OptionalInt lostRank() {
    OptionalInt other = rank();
    return other.isPresent() ? core.lostWith(other.getAsInt()) : other;
  }

  @Override
  public void requireOpen(long start) {
    core.requireOpen("store", start);
  }

  /** Returns the rank whose process serves the store; empty if it is none of the group's. */
  OptionalInt server() {
    return server;
  }

  /** Returns the store; a group of one rank connects to one of its own. */
  synchronized StoreConnection store() {
    core.requireOpen("store", System.nanoTime());
    if (store == null) {
      store = StoreConnection.alone(core.timeout());
    }
    return store;
  }

  @Override
  public void close() {
    if (!isReleased.compareAndSet(false, true)) {
      return;
    }
    core.handle().run(NativeProcessGroup::abort_if_busy);
    core.handle().close();
    LastWords words = core.lastWords();
    if (words != null && server.isPresent() && rank().isEmpty()) { // it serves the store
      words.linger();
    }
    synchronized (this) {
      if (store != null) {
        store.release();
      }
    }
  }
}
