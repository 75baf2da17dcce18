// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.internal.ClusterVariables;
import io.torchfeed.internal.RankVariables;
import io.torchfeed.sampler.Part;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A rank and where it meets the others, as described by the environment variables that torchrun and
 * other launchers set, or else a {@linkplain ClusterVariables cluster}.
 *
 * @param isStoreServedElsewhere whether torchrun's agent already serves the store; the keys of
 *     earlier attempts remain in it
 * @param job the common name of the processes of a job, from {@link RankVariables#JOB} or torchrun;
 *     empty if unknown
 */
public record Environment(
    Part part,
    int localRank,
    String masterAddress,
    int masterPort,
    boolean isStoreServedElsewhere,
    String job) {
  private static final String TORCHRUN_JOB = "TORCHELASTIC_RUN_ID";
  private static final String HINT =
      "; start the program with Launcher, torchrun or srun, or set RANK=0 WORLD_SIZE=1 for a single"
          + " process";

  /** Reads and checks the variables; errors name the variable, its value and the valid range. */
  public static Environment of(Map<String, String> given) {
    Map<String, String> variables = ClusterVariables.resolve(given);
    int worldSize = number(variables, "WORLD_SIZE", 1, Integer.MAX_VALUE);
    int rank = number(variables, "RANK", 0, worldSize - 1);
    int localRank = localRank(variables, worldSize - 1, rank);
    if (worldSize == 1) {
      return new Environment(Part.whole(), localRank, "", 0, false, "");
    }
    return new Environment(
        new Part(worldSize, rank),
        localRank,
        text(variables, "MASTER_ADDR"),
        number(variables, "MASTER_PORT", 1, 65_535),
        "True".equals(variables.get("TORCHELASTIC_USE_AGENT_STORE")),
        variables
            .getOrDefault(RankVariables.JOB, variables.getOrDefault(TORCHRUN_JOB, ""))
            .strip());
  }

  /**
   * Returns the place of a rank whose process has a place of its own on this machine.
   *
   * @param variables of which only {@code LOCAL_RANK} is read; without it, that is the rank
   */
  public static Environment at(
      Part part, String masterAddress, int masterPort, Map<String, String> variables) {
    // Of a process whose launcher starts more of them than are ranks.
    int localRank = localRank(variables, Integer.MAX_VALUE, part.rank());
    return new Environment(part, localRank, masterAddress, masterPort, false, "");
  }

  private static int localRank(Map<String, String> variables, int most, int rank) {
    return variables.containsKey("LOCAL_RANK") ? number(variables, "LOCAL_RANK", 0, most) : rank;
  }

  /** Returns whether the ranks meet on this machine, so that the loopback interface suffices. */
  boolean isLoopback() {
    return masterAddress.equals("localhost")
        || masterAddress.equals("::1")
        || masterAddress.startsWith("127.");
  }

  /** Returns the same place for a rank of a sub-group. */
  public Environment with(Part other) {
    return new Environment(
        other, localRank, masterAddress, masterPort, isStoreServedElsewhere, job);
  }

  /** Returns the same place for a group of a name. */
  public Environment withJob(String name) {
    return new Environment(
        part, localRank, masterAddress, masterPort, isStoreServedElsewhere, name);
  }

  public int rank() {
    return part.rank();
  }

  public int worldSize() {
    return part.worldSize();
  }

  String master() {
    return masterAddress + ":" + masterPort;
  }

  private static String text(Map<String, String> variables, String name) {
    @Nullable String value = variables.get(name);
    if (value == null || value.isBlank()) {
      throw new IllegalArgumentException(
          "environment variable "
              + name
              + " must be set, got "
              + (value == null ? "nothing" : "'" + value + "'")
              + HINT);
    }
    return value.strip();
  }

  private static int number(Map<String, String> variables, String name, int least, int most) {
    String value = text(variables, name);
    try {
      int number = Integer.parseInt(value);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(rangeMessage(name, value, least, most), e);
    }
    throw new IllegalArgumentException(rangeMessage(name, value, least, most));
  }

  private static String rangeMessage(String name, String value, int least, int most) {
    String range =
        most == Integer.MAX_VALUE ? "at least " + least : "in [" + least + ", " + most + "]";
    return "environment variable "
        + name
        + " must be an integer "
        + range
        + ", got '"
        + value
        + "'";
  }
}
