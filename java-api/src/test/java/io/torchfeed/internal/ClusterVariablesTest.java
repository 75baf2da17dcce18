// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests with the variables that schedulers set, as their jobs print them. */
class ClusterVariablesTest {
  /** The variables of a batch script, 4 tasks on 4 nodes. */
  private static final Map<String, String> SLURM_SCRIPT =
      Map.ofEntries(
          Map.entry("SLURM_CLUSTER_NAME", "ada"),
          Map.entry("SLURM_JOB_ID", "200505"),
          Map.entry("SLURM_JOBID", "200505"),
          Map.entry("SLURM_JOB_NODELIST", "gnode[10,20,25,37]"),
          Map.entry("SLURM_JOB_NUM_NODES", "4"),
          Map.entry("SLURM_LOCALID", "0"),
          Map.entry("SLURM_NNODES", "4"),
          Map.entry("SLURM_NODEID", "0"),
          Map.entry("SLURM_NODELIST", "gnode[10,20,25,37]"),
          Map.entry("SLURM_NPROCS", "4"),
          Map.entry("SLURM_NTASKS", "4"),
          Map.entry("SLURM_PROCID", "0"),
          Map.entry("SLURM_TASKS_PER_NODE", "1(x4)"),
          Map.entry("SLURMD_NODENAME", "gnode10"));

  /** The variables of one of its tasks, if srun starts 2 on 2 of the nodes. */
  private static Map<String, String> slurmTask() {
    Map<String, String> variables = new HashMap<>(SLURM_SCRIPT);
    variables.put("SLURM_STEP_ID", "0");
    variables.put("SLURM_STEPID", "0");
    variables.put("SLURM_STEP_NODELIST", "gnode[20,25]");
    variables.put("SLURM_STEP_NUM_TASKS", "2");
    variables.put("SLURM_PROCID", "1");
    variables.put("SLURM_NODEID", "1");
    variables.put("SLURMD_NODENAME", "gnode25");
    return variables;
  }

  @Test
  void aTaskOfSrunIsARankOfItsStep() {
    assertThat(ClusterVariables.resolve(slurmTask()))
        .containsEntry("RANK", "1")
        .containsEntry("WORLD_SIZE", "2")
        .containsEntry("LOCAL_RANK", "0")
        .containsEntry("MASTER_ADDR", "gnode20")
        .containsEntry("MASTER_PORT", "20505")
        .containsEntry("TORCHFEED_JOB_ID", "200505")
        .containsEntry("SLURM_CLUSTER_NAME", "ada");
  }

  @Test
  void theBatchScriptItselfIsNoRank() {
    assertThat(ClusterVariables.resolve(SLURM_SCRIPT)).isEqualTo(SLURM_SCRIPT);
  }

  @Test
  void olderVersionsOfSlurmHaveOtherNames() {
    Map<String, String> variables =
        Map.of(
            "SLURM_STEPID", "0",
            "SLURM_PROCID", "3",
            "SLURM_NTASKS", "4",
            "SLURM_NODELIST", "a,b",
            "SLURM_JOBID", "7");
    assertThat(ClusterVariables.resolve(variables))
        .containsEntry("RANK", "3")
        .containsEntry("WORLD_SIZE", "4")
        .containsEntry("MASTER_ADDR", "a")
        .containsEntry("MASTER_PORT", "20007");
  }

  @Test
  void theVariablesOfTorchrunComeFirst() {
    Map<String, String> variables = slurmTask();
    variables.put("MASTER_ADDR", "10.0.0.7");
    variables.put("MASTER_PORT", "40000");
    assertThat(ClusterVariables.resolve(variables))
        .containsEntry("RANK", "1")
        .containsEntry("MASTER_ADDR", "10.0.0.7")
        .containsEntry("MASTER_PORT", "40000");
    variables.put("RANK", "5");
    assertThat(ClusterVariables.resolve(variables)).isEqualTo(variables);
  }

  @Test
  void aPodOfKubeflowsTrainerIsARankIfItHasOneProcess() {
    Map<String, String> variables =
        new HashMap<>(
            Map.of(
                "PET_NNODES", "4",
                "PET_NPROC_PER_NODE", "1",
                "PET_NODE_RANK", "2",
                "PET_MASTER_ADDR", "mnist-node-0-0.mnist",
                "PET_MASTER_PORT", "29400"));
    assertThat(ClusterVariables.resolve(variables))
        .containsEntry("RANK", "2")
        .containsEntry("WORLD_SIZE", "4")
        .containsEntry("LOCAL_RANK", "0")
        .containsEntry("MASTER_ADDR", "mnist-node-0-0.mnist")
        .containsEntry("MASTER_PORT", "29400");
    variables.put("PET_NPROC_PER_NODE", "auto");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ClusterVariables.resolve(variables))
        .withMessageContaining("PET_NPROC_PER_NODE must be 1")
        .withMessageContaining("got 'auto'");
  }

  @Test
  void aPodOfAVolcanoJobIsARankIfTheJobHasOneTask() {
    Map<String, String> variables =
        new HashMap<>(
            Map.of(
                "VC_TASK_INDEX", "1",
                "VK_TASK_INDEX", "1",
                "VC_WORKER_HOSTS", "mnist-worker-0.mnist,mnist-worker-1.mnist",
                "VC_WORKER_NUM", "2",
                "MASTER_PORT", "23456"));
    assertThat(ClusterVariables.resolve(variables))
        .containsEntry("RANK", "1")
        .containsEntry("WORLD_SIZE", "2")
        .containsEntry("MASTER_ADDR", "mnist-worker-0.mnist")
        .containsEntry("MASTER_PORT", "23456");
    variables.put("VC_PS_HOSTS", "mnist-ps-0.mnist");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ClusterVariables.resolve(variables))
        .withMessageContaining("the Volcano job has the tasks [PS, WORKER]");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "node1 | node1",
        "a,b[1-3] | a",
        "gnode[10,20,25,37] | gnode10",
        "node[001-004,010],login | node001",
        "rack[1-2]n[3-4] | rack1n3",
        "node[07-09]-ib,x | node07-ib",
      })
  void theFirstHostOfAListIsFound(String hosts, String first) {
    assertThat(ClusterVariables.firstHost(hosts)).isEqualTo(first);
  }
}
