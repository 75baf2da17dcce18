# SPDX-License-Identifier: Apache-2.0
"""Checks the job files without a cluster: their syntax, and the fields that torchfeed depends on."""

import pathlib
import re
import subprocess
import unittest

import yaml  # Debian: python3-yaml

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = ["java", "-cp", "/app/*", "Train"]


def job(name, api_version, kind):
    """Parses a file of one resource, whose kind and version it must have."""
    resource = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    assert (resource["apiVersion"], resource["kind"]) == (api_version, kind), resource
    assert re.fullmatch(r"[a-z0-9-]{1,63}", resource["metadata"]["name"]), resource["metadata"]
    return resource["spec"]


class JobsTest(unittest.TestCase):
    def test_the_operator_v1_finds_its_container(self):
        replicas = job("kubeflow-v1.yaml", "kubeflow.org/v1", "PyTorchJob")["pytorchReplicaSpecs"]
        self.assertEqual({"Master", "Worker"}, set(replicas))
        self.assertEqual(1, replicas["Master"]["replicas"])
        for each in replicas.values():
            (container,) = each["template"]["spec"]["containers"]
            self.assertEqual("pytorch", container["name"])
            self.assertEqual(COMMAND, container["command"])
            self.assertEqual("OnFailure", each["restartPolicy"])

    def test_a_pod_of_trainer_v2_has_one_process(self):
        spec = job("kubeflow-v2.yaml", "trainer.kubeflow.org/v1alpha1", "TrainJob")
        self.assertEqual("torch-distributed", spec["runtimeRef"]["name"])
        self.assertEqual(1, spec["trainer"]["numProcPerNode"])
        self.assertEqual(COMMAND, spec["trainer"]["command"])
        self.assertGreater(spec["trainer"]["numNodes"], 1)

    def test_a_job_of_volcano_has_one_task_and_a_port(self):
        spec = job("volcano.yaml", "batch.volcano.sh/v1alpha1", "Job")
        self.assertEqual({"env": [], "svc": []}, spec["plugins"])
        (task,) = spec["tasks"]
        self.assertEqual("worker", task["name"])  # VC_WORKER_HOSTS
        self.assertEqual(spec["minAvailable"], task["replicas"])
        (container,) = task["template"]["spec"]["containers"]
        self.assertEqual(COMMAND, container["command"])
        (port,) = container["env"]
        self.assertEqual("MASTER_PORT", port["name"])
        self.assertIsInstance(port["value"], str)

    def test_the_scripts_of_slurm_are_scripts(self):
        for name in ("slurm.sbatch", "slurm-elastic.sbatch"):
            subprocess.run(["bash", "-n", HERE / name], check=True)
            lines = (HERE / name).read_text(encoding="utf-8").splitlines()
            options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH --")]
            commands = [number for number, line in enumerate(lines) if line and line[0] != "#"]
            self.assertTrue(options)
            self.assertLess(max(options), min(commands))  # Slurm reads none behind a command
            self.assertIn("srun ", "\n".join(lines))

    def test_the_guide_names_each_file(self):
        guide = (HERE / "README.md").read_text(encoding="utf-8")
        for file in [*HERE.glob("*.yaml"), *HERE.glob("*.sbatch")]:
            self.assertIn(f"[{file.name}]({file.name})", guide)


if __name__ == "__main__":
    unittest.main()
