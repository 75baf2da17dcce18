// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The place of a process by the variables of cluster schedulers, which differ from torchrun's
 * {@code RANK} and {@code WORLD_SIZE}:
 *
 * <ul>
 *   <li>a task of Slurm's {@code srun}: {@code SLURM_PROCID} of {@code SLURM_STEP_NUM_TASKS} or
 *       {@code SLURM_NTASKS}; the master is the first host of the step, at a port derived from the
 *       number of the job
 *   <li>a pod of Kubeflow's Trainer v2 with one process: {@code PET_NODE_RANK} of {@code
 *       PET_NNODES}, {@code PET_MASTER_ADDR}, {@code PET_MASTER_PORT}
 *   <li>a pod of a Volcano job with one task and the plugins {@code env} and {@code svc}: {@code
 *       VC_TASK_INDEX} or {@code VK_TASK_INDEX} of {@code VC_..._NUM}; the master is the first of
 *       {@code VC_..._HOSTS}, at {@code MASTER_PORT}
 * </ul>
 *
 * <p>Kubeflow's v1 and Volcano's plugin {@code pytorch} set torchrun's variables.
 */
public final class ClusterVariables {
  private static final Pattern TASK_HOSTS = Pattern.compile("VC_(.+)_HOSTS");

  /** The first host of a list such as {@code gnode[07-09,12],login1}. */
  private static final Pattern FIRST_HOST =
      Pattern.compile("([^,\\[]+)(?:\\[(\\d+)[^\\]]*\\]([^,]*))?.*");

  private static final int FIRST_PORT = 20_000;
  private static final int PORTS = 10_000;

  private ClusterVariables() {}

  /**
   * Returns the variables with torchrun's added, if a scheduler describes a place and torchrun's
   * are missing; else the same. Torchrun's {@code MASTER_ADDR}, {@code MASTER_PORT} and {@code
   * LOCAL_RANK} count before the scheduler's.
   */
  public static Map<String, String> resolve(Map<String, String> variables) {
    if (variables.containsKey("RANK") || variables.containsKey("WORLD_SIZE")) {
      return variables;
    }
    return slurm(variables)
        .or(() -> trainer(variables))
        .or(() -> volcano(variables))
        .map(place -> merged(variables, place))
        .orElse(variables);
  }

  private static Map<String, String> merged(
      Map<String, String> variables, Map<String, String> place) {
    Map<String, String> all = new HashMap<>(place);
    all.putAll(variables);
    return all;
  }

  /** The batch script itself has the variables, too, but no step. */
  private static Optional<Map<String, String>> slurm(Map<String, String> variables) {
    @Nullable String rank = variables.get("SLURM_PROCID");
    @Nullable String size = first(variables, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
    if (rank == null || size == null || first(variables, "SLURM_STEP_ID", "SLURM_STEPID") == null) {
      return Optional.empty();
    }
    Map<String, String> place = new HashMap<>(Map.of("RANK", rank, "WORLD_SIZE", size));
    put(place, "LOCAL_RANK", variables.get("SLURM_LOCALID"));
    @Nullable String hosts =
        first(variables, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST");
    put(place, "MASTER_ADDR", hosts == null ? null : firstHost(hosts));
    @Nullable String job = first(variables, "SLURM_JOB_ID", "SLURM_JOBID");
    put(place, "MASTER_PORT", job == null ? null : port(job));
    put(place, RankVariables.JOB, job);
    return Optional.of(place);
  }

  private static Optional<Map<String, String>> trainer(Map<String, String> variables) {
    @Nullable String rank = variables.get("PET_NODE_RANK");
    @Nullable String size = variables.get("PET_NNODES");
    if (rank == null || size == null) {
      return Optional.empty();
    }
    String each = variables.getOrDefault("PET_NPROC_PER_NODE", "1");
    if (!each.strip().equals("1")) {
      throw new IllegalArgumentException(
          ("environment variable PET_NPROC_PER_NODE must be 1 for a process that torchrun has not"
                  + " started, got '%s'; set numProcPerNode: 1, or start the ranks of the pod with"
                  + " torchrun or Launcher")
              .formatted(each));
    }
    Map<String, String> place =
        new HashMap<>(Map.of("RANK", rank, "WORLD_SIZE", size, "LOCAL_RANK", "0"));
    put(place, "MASTER_ADDR", variables.get("PET_MASTER_ADDR"));
    put(place, "MASTER_PORT", variables.get("PET_MASTER_PORT"));
    return Optional.of(place);
  }

  private static Optional<Map<String, String>> volcano(Map<String, String> variables) {
    @Nullable String rank = first(variables, "VC_TASK_INDEX", "VK_TASK_INDEX");
    List<String> tasks =
        variables.keySet().stream()
            .map(TASK_HOSTS::matcher)
            .filter(Matcher::matches)
            .map(found -> found.group(1))
            .sorted()
            .toList();
    if (rank == null || tasks.isEmpty()) {
      return Optional.empty();
    }
    if (tasks.size() > 1) {
      throw new IllegalArgumentException(
          "the Volcano job has the tasks %s, so that VC_TASK_INDEX is no rank; use one task, or the"
                  .formatted(tasks)
              + " plugin pytorch, which sets RANK");
    }
    String hosts = variables.getOrDefault("VC_" + tasks.get(0) + "_HOSTS", "");
    String[] named = hosts.split(",", -1);
    String size =
        variables.getOrDefault("VC_" + tasks.get(0) + "_NUM", Integer.toString(named.length));
    Map<String, String> place =
        new HashMap<>(Map.of("RANK", rank, "WORLD_SIZE", size, "LOCAL_RANK", "0"));
    put(place, "MASTER_ADDR", named[0].strip());
    return Optional.of(place);
  }

  private static @Nullable String first(Map<String, String> variables, String... names) {
    for (String name : names) {
      if (variables.get(name) != null) {
        return variables.get(name);
      }
    }
    return null;
  }

  private static void put(Map<String, String> place, String name, @Nullable String value) {
    if (value != null) {
      place.put(name, value);
    }
  }

  /** Returns the first host of Slurm's compressed list. */
  static String firstHost(String hosts) {
    Matcher found = FIRST_HOST.matcher(hosts.strip());
    if (!found.matches()) {
      return hosts;
    }
    String number = found.group(2) == null ? "" : found.group(2);
    @Nullable String end = found.group(3);
    return found.group(1) + number + (end == null || end.isEmpty() ? "" : firstHost(end));
  }

  /**
   * Returns a port that differs between most jobs of one machine; null if the job has no number.
   */
  private static @Nullable String port(String job) {
    try {
      return Integer.toString(FIRST_PORT + Math.floorMod(Long.parseLong(job.strip()), PORTS));
    } catch (NumberFormatException e) {
      return null; // then MASTER_PORT is named as missing
    }
  }
}
