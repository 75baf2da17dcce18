// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.rendezvous.Environment;
import io.torchfeed.distributed.rendezvous.ParentWatchdog;
import io.torchfeed.distributed.rendezvous.PythonProtocol;
import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.sampler.Part;
import java.util.Map;
import java.util.OptionalInt;

/**
 * The ways into a group: of Java's ranks, or of ranks of which some may be Python's.
 *
 * @param listener the open socket of rank 0, if it has one
 */
record GroupJoin(Environment environment, Map<String, String> variables, OptionalInt listener) {
  /** Joins the group that the environment variables describe. */
  static GroupPlace fromEnvironment(Map<String, String> variables, GroupOptions options) {
    requireNonNull(options, "options");
    return of(variables).member(false, options);
  }

  /** Joins ranks that meet at a given address. */
  static GroupPlace at(Master master, Part part, GroupOptions options) {
    requireNonNull(options, "options");
    return of(master, part, System.getenv()).member(false, options);
  }

  /** Like {@link #fromEnvironment}, with ranks of Python. */
  static GroupPlace pythonFromEnvironment(Map<String, String> variables, GroupOptions options) {
    requireNoDevice(options);
    return of(variables).python(options);
  }

  /** Like {@link #at}, with ranks of Python. */
  static GroupPlace pythonAt(Master master, Part part, GroupOptions options) {
    requireNoDevice(options);
    return of(master, part, System.getenv()).python(options);
  }

  private static void requireNoDevice(GroupOptions options) {
    if (requireNonNull(options, "options").hasDevice()) {
      throw new IllegalArgumentException(
          "a group with Python ranks sends tensors of a device through host memory, got "
              + options);
    }
  }

  private static GroupJoin of(Map<String, String> variables) {
    Environment environment = Environment.of(variables);
    ParentWatchdog.start(variables);
    return new GroupJoin(environment, variables, OptionalInt.empty());
  }

  static GroupJoin of(Master master, Part part, Map<String, String> variables) {
    requireNonNull(master, "master");
    requireNonNull(part, "part");
    return new GroupJoin(
        Environment.at(part, master.host(), master.port(), variables),
        variables,
        listener(master, part));
  }

  /** Leaves an open socket to rank 0, which may be another thread of this process. */
  static OptionalInt listener(Master master, Part part) {
    return part.rank() == 0 ? master.takeListener() : OptionalInt.empty();
  }

  private GroupPlace python(GroupOptions options) {
    PythonProtocol.check(variables);
    return member(true, options);
  }

  private String networkInterface() {
    return variables.getOrDefault("GLOO_SOCKET_IFNAME", "").strip();
  }

  private GroupPlace member(boolean hasPythonRanks, GroupOptions options) {
    Environment named =
        options.name().isEmpty() ? environment : environment.withJob(options.name());
    Rendezvous rendezvous =
        new Rendezvous(
            named,
            networkInterface(),
            listener,
            hasPythonRanks,
            options.terms(),
            options.timeout());
    OptionalInt server =
        environment.isStoreServedElsewhere() ? OptionalInt.empty() : OptionalInt.of(0);
    return new GroupPlace(rendezvous.join(), environment, networkInterface(), server, options);
  }
}
