// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.internal.Failures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The calls of each rank in the files of PyTorch's flight recorder, {@code rank_0} and so on, which
 * its {@code torchfrtrace} reads. Of several groups of all ranks, it writes the last. Messages are
 * left out.
 *
 * <p>Source: torch 2.13.0, {@code torch/distributed/flight_recorder}.
 */
final class TorchRecorder {
  private static final String VERSION = "2.10";

  /** The operations that torchfrtrace knows, without those for a single tensor. */
  private static final Set<String> KNOWN =
      Set.of(
          "all_gather",
          "all_reduce",
          "all_to_all",
          "barrier",
          "broadcast",
          "gather",
          "reduce",
          "reduce_scatter",
          "scatter");

  private final Dumps dumps;
  private final Clocks clocks;
  private final GroupCalls main;

  private TorchRecorder(Dumps dumps, Clocks clocks, GroupCalls main) {
    this.dumps = dumps;
    this.clocks = clocks;
    this.main = main;
  }

  /**
   * Writes the files.
   *
   * @return how many
   * @throws DumpException if there is no group of several ranks, or a file cannot be written
   */
  static int write(Path folder, Dumps dumps, Clocks clocks) {
    GroupCalls main = null;
    for (Dump dump : dumps.all()) {
      int group = dump.mainGroup();
      if (group >= 0 && dump.groups().get(group).ranks() > 1) {
        main = dumps.groups().get(dump.groups().get(group).key());
      }
    }
    if (main == null) {
      throw DumpException.of(
          dumps.all().get(0).file(),
          "has no group of several ranks for a flight recorder",
          "leave out --flight-recorder");
    }
    return new TorchRecorder(dumps, clocks, main).write(folder);
  }

  private int write(Path folder) {
    try {
      Files.createDirectories(folder);
      for (Attendance rank : main.attendances()) {
        byte[] pickle = new Pickle().put(dump(rank)).toBytes();
        Files.write(folder.resolve("rank_" + rank.rank()), pickle);
      }
      return main.attendances().size();
    } catch (IOException e) {
      throw DumpException.of(
          folder, "cannot be written to: " + Failures.reason(e), "name another folder", e);
    }
  }

  private Map<String, Object> dump(Attendance rank) {
    Map<String, Object> configs = new LinkedHashMap<>();
    Map<String, Object> states = new LinkedHashMap<>();
    List<Object> entries = new ArrayList<>();
    int id = 0;
    for (GroupCalls group : dumps.groups().values()) {
      Optional<List<Integer>> members = members(group);
      Optional<Attendance> own =
          group.attendances().stream().filter(each -> each.dump() == rank.dump()).findFirst();
      if (members.isPresent() && own.isPresent()) {
        String name = Integer.toString(id);
        configs.put(
            name,
            ordered("name", name, "desc", description(group), "ranks", members.get().toString()));
        long last = own.get().end();
        states.put(
            name,
            ordered(
                "last_enqueued_collective", last,
                "last_started_collective", last,
                "last_completed_collective", last));
        addEntries(entries, group, own.get(), name);
      }
      id++;
    }
    return ordered(
        "version", VERSION, "pg_config", configs, "pg_status", states, "entries", entries);
  }

  private static String description(GroupCalls group) {
    return group.key().contains("reducer ") ? "gradients" : "group";
  }

  /** Returns the ranks in the main group; empty if a member has no dump, or is of another group. */
  private Optional<List<Integer>> members(GroupCalls group) {
    List<Integer> members = new ArrayList<>();
    if (group.key().equals(main.key())) {
      for (int rank = 0; rank < main.ranks(); rank++) {
        members.add(rank);
      }
      return Optional.of(members);
    }
    if (!group.key().startsWith(main.key()) || group.attendances().size() < group.ranks()) {
      return Optional.empty();
    }
    group.attendances().forEach(each -> members.add(each.worldRank()));
    return Optional.of(members);
  }

  private void addEntries(List<Object> entries, GroupCalls group, Attendance own, String name) {
    for (long number = group.first(); number < own.end(); number++) {
      if (own.has(number)) {
        entries.add(
            entry(
                entries.size(),
                group,
                name,
                dumps.all().get(own.dump()).name(own.name(number)),
                number,
                clocks.time(own.dump(), own.arrived(number)),
                "completed",
                ""));
      }
    }
    Dump dump = dumps.all().get(own.dump());
    List<Dump.Call> last = new ArrayList<>(dump.failed());
    last.addAll(dump.open());
    for (Dump.Call call : last) {
      boolean isOwn = dump.groups().get(call.group()).key().equals(group.key());
      if (isOwn && call.kind().isMatched() && call.number() >= own.end()) {
        entries.add(
            entry(
                entries.size(),
                group,
                name,
                call.operation(),
                call.number(),
                clocks.time(own.dump(), call.start()),
                "started",
                call.site()));
      }
    }
  }

  private static Map<String, Object> entry(
      int id,
      GroupCalls group,
      String name,
      String operation,
      long number,
      long created,
      String state,
      String site) {
    String kind = group.key().contains("reducer ") ? "all_reduce" : kind(operation);
    long ranks = group.ranks();
    long inputs = kind.equals("reduce_scatter") ? ranks : 1;
    long outputs = kind.equals("all_gather") ? ranks : 1;
    return ordered(
        "frames",
        frames(site),
        "record_id",
        (long) id,
        "pg_id",
        Long.parseLong(name),
        "process_group",
        new Object[] {name, description(group)},
        "collective_seq_id",
        number + 1,
        "p2p_seq_id",
        0L,
        "op_id",
        number + 1,
        "profiling_name",
        "gloo:" + kind,
        "time_created_ns",
        created,
        "input_sizes",
        new Object[] {new Object[] {inputs}},
        "input_dtypes",
        List.of("Byte"),
        "output_sizes",
        new Object[] {new Object[] {outputs}},
        "output_dtypes",
        List.of("Byte"),
        "state",
        state,
        "retired",
        state.equals("completed"),
        "is_p2p",
        false);
  }

  private static String kind(String operation) {
    String name = operation.replace('-', '_');
    return KNOWN.contains(name) ? name : "barrier";
  }

  private static List<Object> frames(String site) {
    if (site.isEmpty()) {
      return List.of();
    }
    int paren = site.indexOf('(');
    String method = paren < 0 ? site : site.substring(0, paren);
    String place = paren < 0 ? "" : site.substring(paren + 1, site.length() - 1);
    int colon = place.indexOf(':');
    return List.of(
        ordered(
            "name", method,
            "filename", colon < 0 ? place : place.substring(0, colon),
            "line", colon < 0 ? "0" : place.substring(colon + 1)));
  }

  private static Map<String, Object> ordered(Object... pairs) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      map.put((String) pairs[i], pairs[i + 1]);
    }
    return map;
  }
}
