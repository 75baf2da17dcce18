// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.rendezvous.Environment;
import io.torchfeed.distributed.rendezvous.LossNote;
import io.torchfeed.distributed.rendezvous.ParentWatchdog;
import io.torchfeed.distributed.rendezvous.PythonProtocol;
import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.sampler.Part;
import java.util.Map;
import java.util.OptionalInt;

/** The ways into a {@link ProcessGroup}: of Java's ranks, or of ranks that are also Python's. */
final class GroupJoin {
  private GroupJoin() {}

  /** Joins the group that the environment variables describe. */
  static ProcessGroup fromEnvironment(
      Map<String, String> variables, boolean hasPythonRanks, GroupOptions options) {
    check(options, hasPythonRanks);
    Environment environment = Environment.of(variables);
    ParentWatchdog.start(variables);
    return join(environment, variables, OptionalInt.empty(), hasPythonRanks, options);
  }

  /** Joins ranks that meet at a given address. */
  static ProcessGroup at(Master master, Part part, boolean hasPythonRanks, GroupOptions options) {
    check(options, hasPythonRanks);
    return join(
        environment(requireNonNull(master, "master"), requireNonNull(part, "part")),
        System.getenv(),
        listener(master, part),
        hasPythonRanks,
        options);
  }

  private static void check(GroupOptions options, boolean hasPythonRanks) {
    if (requireNonNull(options, "options").hasDevice() && hasPythonRanks) {
      throw new IllegalArgumentException(
          "a group with Python ranks sends tensors of a device through host memory, got "
              + options);
    }
  }

  private static Environment environment(Master master, Part part) {
    return new Environment(part, part.rank(), master.host(), master.port(), false, "");
  }

  /** Leaves an open socket to rank 0, which may be another thread of this process. */
  static OptionalInt listener(Master master, Part part) {
    return part.rank() == 0 ? master.takeListener() : OptionalInt.empty();
  }

  private static ProcessGroup join(
      Environment environment,
      Map<String, String> variables,
      OptionalInt listener,
      boolean hasPythonRanks,
      GroupOptions options) {
    if (hasPythonRanks) {
      PythonProtocol.check(variables);
    }
    String networkInterface = variables.getOrDefault("GLOO_SOCKET_IFNAME", "").strip();
    Environment named =
        options.name().isEmpty() ? environment : environment.withJob(options.name());
    Rendezvous.Joined joined =
        new Rendezvous(named, networkInterface, listener, hasPythonRanks, options.timeout()).join();
    ProcessGroup group = new ProcessGroup(joined, environment, networkInterface, options);
    if (!hasPythonRanks) {
      group.completed();
    }
    LossNote.clear();
    return group;
  }
}
