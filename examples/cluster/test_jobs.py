# SPDX-License-Identifier: Apache-2.0
"""Checks the job files without a cluster: their syntax, and the fields that torchfeed depends on."""

import os
import pathlib
import re
import subprocess
import tempfile
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

    def test_pods_that_come_and_go_find_the_first_and_the_secret(self):
        text = (HERE / "kubernetes-elastic.yaml").read_text(encoding="utf-8")
        service, job_of_pods = yaml.safe_load_all(text)
        self.assertEqual(("v1", "Service"), (service["apiVersion"], service["kind"]))
        self.assertEqual("None", service["spec"]["clusterIP"])
        self.assertEqual(("batch/v1", "Job"), (job_of_pods["apiVersion"], job_of_pods["kind"]))
        name = job_of_pods["metadata"]["name"]
        self.assertEqual({"job-name": name}, service["spec"]["selector"])
        spec = job_of_pods["spec"]
        self.assertEqual("Indexed", spec["completionMode"])  # JOB_COMPLETION_INDEX, host names
        pod = spec["template"]["spec"]
        self.assertEqual(service["metadata"]["name"], pod["subdomain"])
        (container,) = pod["containers"]
        self.assertIn(f"{name}-0.{pod['subdomain']}:29600", container["command"][2])
        (variable,) = container["env"]
        self.assertEqual("TORCHFEED_JOB_SECRET_FILE", variable["name"])
        (mount,) = container["volumeMounts"]
        self.assertEqual(f"{mount['mountPath']}/secret", variable["value"])
        (volume,) = pod["volumes"]
        self.assertEqual(volume["name"], mount["name"])
        self.assertIn(f"secret generic {volume['secret']['secretName']} --from-literal=secret=", text)

    def test_the_elastic_script_of_slurm_makes_a_secret_that_others_cannot_read(self):
        script = (HERE / "slurm-elastic.sbatch").read_text(encoding="utf-8")
        begin = script.index("export TORCHFEED_JOB_SECRET_FILE")
        part = script[begin : script.index("trap ")]
        with tempfile.TemporaryDirectory() as folder:
            variables = dict(os.environ, SLURM_JOB_ID="7")
            subprocess.run(["bash", "-ec", part], cwd=folder, env=variables, check=True)
            secret = pathlib.Path(folder, "secret-7")
            self.assertEqual(0o600, secret.stat().st_mode & 0o777)
            self.assertRegex(secret.read_text(encoding="ascii"), "^[0-9a-f]{64}$")

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
