// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;

/** A coordinator and members of it, closed after each test. */
abstract class MembershipFixture {
  final BlockingQueue<CoordinatorEvent> events = new LinkedBlockingQueue<>();
  final ExecutorService threads = Executors.newCachedThreadPool();
  final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened) {
      each.close();
    }
    threads.shutdownNow();
  }

  Coordinator listen(CoordinatorOptions options) {
    Coordinator coordinator =
        Coordinator.listen("127.0.0.1", 0, options.withJob("job").withEvents(events::add));
    opened.add(coordinator);
    return coordinator;
  }

  static CoordinatorOptions ranks(int min, int max) {
    return CoordinatorOptions.of(min, max).withSilence(Duration.ofSeconds(30));
  }

  static MembershipOptions named(String name) {
    return MembershipOptions.defaults().withJob("job").withName(name);
  }

  Membership join(Coordinator coordinator, String name) throws Exception {
    Membership member = Membership.join("127.0.0.1", coordinator.port(), named(name));
    opened.add(member);
    return member;
  }

  /** Gets the next generation of a rank in a thread of its own; rank 0 announces its address. */
  Future<World> next(Membership member, String reason) {
    return threads.submit(
        () -> {
          World world = member.next(reason).orElseThrow();
          if (world.rank() == 0) {
            member.announce("127.0.0.1", 4000 + world.generation());
          }
          return world;
        });
  }

  /** Joins members and waits until they are in one generation. */
  List<Membership> together(Coordinator coordinator, String... names) throws Exception {
    List<Membership> members = new ArrayList<>();
    List<Future<World>> worlds = new ArrayList<>();
    for (String name : names) {
      Membership member = join(coordinator, name);
      members.add(member);
      worlds.add(next(member, ""));
    }
    for (Future<World> each : worlds) {
      assertThat(each.get().size()).isEqualTo(names.length);
    }
    return members;
  }

  <T> Future<T> start(Callable<T> body) {
    return threads.submit(body);
  }

  void awaitEvent(CoordinatorEvent.Kind kind) throws InterruptedException {
    while (events.take().kind() != kind) {}
  }
}
