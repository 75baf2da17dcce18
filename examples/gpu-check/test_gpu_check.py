# SPDX-License-Identifier: Apache-2.0
"""Tests the logic of pack and run with fake libraries and parts: python3 -m unittest, in this folder."""

import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from gpu_check import check, elf, libraries, pack, parts, pieces, plan, report


def fake_library(path, needed=()):
    """Writes the least that is an x86-64 library: a header, a loaded segment, and names of others."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    strings = 64 + 2 * 56
    dynamic = strings + len(names)
    entries, at = b"", 1
    for name in needed:
        entries += struct.pack("<qQ", elf.DT_NEEDED, at)
        at += len(name) + 1
    entries += struct.pack("<qQ", elf.DT_STRTAB, strings) + struct.pack("<qQ", 0, 0)
    size = dynamic + len(entries)
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    segments = struct.pack("<IIQQQQQQ", elf.PT_LOAD, 4, 0, 0, 0, size, size, 4096)
    segments += struct.pack("<IIQQQQQQ", elf.PT_DYNAMIC, 4, dynamic, dynamic, 0, len(entries), len(entries), 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + segments + names + entries)
    return path


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class FindingLibraries(InAFolder):
    def setUp(self):
        super().setUp()
        self.root = fake_library(self.folder / "own/libtorch_cuda.so", ["libcublas.so.13", "libc10.so", "libc.so.6"])
        self.folders = [(str(self.folder / "first"), "LD_LIBRARY_PATH"), (str(self.folder / "second"), "the system")]

    def found(self):
        return libraries.resolve([self.root], self.folders)

    def test_a_library_and_those_that_it_needs_are_found_in_order(self):
        fake_library(self.folder / "first/libcublas.so.13", ["libcublasLt.so.13"])
        fake_library(self.folder / "second/libcublas.so.13")
        fake_library(self.folder / "second/libcublasLt.so.13")
        found = self.found()
        self.assertEqual(["libcublas.so.13", "libcublasLt.so.13"], [f.name for f in found])
        self.assertEqual(["LD_LIBRARY_PATH", "the system"], [f.source for f in found])
        self.assertEqual([], libraries.named(found))
        self.assertEqual(f"{self.folder}/first:{self.folder}/second", libraries.path_of(found))

    def test_a_missing_library_is_named_with_the_one_that_needs_it(self):
        self.assertEqual(["libcublas.so.13, needed by libtorch_cuda.so: missing"], libraries.named(self.found()))

    def test_a_library_of_another_version_is_named(self):
        other = fake_library(self.folder / "second/libcublas.so.12")
        self.assertEqual([f"libcublas.so.13, needed by libtorch_cuda.so: wrong version: there is only {other}"],
                         libraries.named(self.found()))

    def test_a_truncated_library_is_named_and_the_next_one_is_taken(self):
        path = fake_library(self.folder / "first/libcublas.so.13")
        path.write_bytes(path.read_bytes()[:-8])
        self.assertIn(f"broken: {path}: it is truncated", libraries.named(self.found())[0])
        fake_library(self.folder / "second/libcublas.so.13")
        self.assertEqual([], libraries.named(self.found()))

    def test_a_file_that_is_no_library_is_named(self):
        (self.folder / "first").mkdir()
        (self.folder / "first/libcublas.so.13").write_text("version https://git-lfs.github.com/spec/v1")
        self.assertIn("it is no ELF file", libraries.named(self.found())[0])

    def test_the_words_of_the_dynamic_linker_are_the_reason(self):
        path = fake_library(self.folder / "first/libcublas.so.13")
        path.write_bytes(b"nothing")
        self.assertIn("libcublas.so.13", libraries.load(path, ""))

    def test_an_older_nccl_is_a_problem(self):
        nccl = libraries.Found("libnccl.so.2", "libtorch_cuda.so", "/x/libnccl.so.2", "the system")
        before = libraries.version
        self.addCleanup(setattr, libraries, "version", before)
        libraries.version = lambda *_: 22705
        libraries.check_versions([nccl])
        self.assertIsNone(nccl.problem)  # the one that a Python torch has is right for it
        libraries.check_versions([nccl], libraries.OLDEST_NCCL)
        self.assertIn("wrong version: /x/libnccl.so.2 is 22705", nccl.problem)

    def test_a_driver_for_an_older_cuda_is_a_problem(self):
        def problem(runtime, version):
            driver = libraries.Found("libcuda.so.1", "libjnicudart.so", "/x/libcuda.so.1", "the system")
            libraries.check_driver([libraries.Found(runtime, "libc10_cuda.so"), driver], version)
            return driver.problem
        self.assertIsNone(problem("libcudart.so.13", 13000))
        self.assertIsNone(problem("libcudart.so.12", 12020))
        self.assertIsNone(problem("libcudart.so.13", "not known"))
        self.assertEqual("wrong version: /x/libcuda.so.1 is a driver for CUDA 12.8, one for CUDA 13 or later is needed",
                         problem("libcudart.so.13", 12080))

    def test_a_library_of_this_system_is_read(self):
        self.assertTrue(any("libc.so" in name for name in elf.needed(sys.executable)) or elf.needed(sys.executable) == [])


DRIVER = """
int cuInit(unsigned flags) { return STATUS; }
int cuGetErrorName(int status, const char** name) { *name = "CUDA_ERROR_X"; return 0; }
int cuDriverGetVersion(int* version) { *version = 12080; return 0; }
int cuDeviceGetCount(int* count) { *count = COUNT; return 0; }
int cuDeviceGet(int* device, int number) { *device = number + 5; return 0; }
int cuDeviceGetName(char* name, int length, int device) { name[0] = 'G'; name[1] = '0' + device; name[2] = 0; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { *value = attribute == 75 ? 7 : device - 5; return 0; }
"""


@unittest.skipUnless(shutil.which("cc"), "a C compiler makes the driver of these tests")
class TheDriver(InAFolder):
    def driver(self, status, count):
        (self.folder / "driver.c").write_text(DRIVER)
        subprocess.run(["cc", "-shared", "-fPIC", f"-DSTATUS={status}", f"-DCOUNT={count}", "-o", self.folder / "libcuda.so.1",
                        self.folder / "driver.c"], check=True)
        return str(self.folder)

    def test_gpus_are_named_with_their_capability(self):
        gpus, reason = libraries.devices(self.driver(0, 2))
        self.assertEqual((["G5, compute capability 7.0", "G6, compute capability 7.1"], None), (list(map(str, gpus)), reason))
        self.assertEqual([], libraries.without_code(gpus, [(7, 0)]))
        self.assertEqual(["G5, compute capability 7.0: libtorch has code for 7.1, 8.0 and later ones of the same first number"],
                         libraries.without_code(gpus, [(7, 1), (8, 0)]))

    def test_its_version_is_asked_for(self):
        library = libraries.find("libcuda.so.1", "libjnicudart.so", [(self.driver(0, 1), "the system")])
        runtime = libraries.Found("libcudart.so.13", "libc10_cuda.so")
        self.assertEqual({"libcuda.so.1": 12080}, libraries.check_versions([library, runtime]))
        self.assertIn("a driver for CUDA 12.8", library.problem)

    def test_the_reason_is_given_where_there_is_no_gpu(self):
        self.assertEqual(([], "the driver reports no GPU"), libraries.devices(self.driver(0, 0)))
        self.assertEqual(([], "the driver's cuInit failed with status 803 (CUDA_ERROR_X)"), libraries.devices(self.driver(803, 1)))


class PiecesOfAFolder(InAFolder):
    def test_pieces_have_at_most_the_limit_and_together_all_files(self):
        content, out = self.folder / "content", self.folder / "out"
        content.mkdir()
        out.mkdir()
        data = os.urandom(250_000)
        (content / "large").write_bytes(data)
        (content / "small").write_text("x")
        names = pieces.write(content, out, limit=60_000)
        sizes = [(out / name).stat().st_size for name in names]
        self.assertEqual({60_000}, set(sizes[:-1]))
        self.assertLessEqual(sizes[-1], 60_000)
        self.assertEqual(len(names), len((out / "SHA256SUMS").read_text().splitlines()))
        with tarfile.open(fileobj=io.BytesIO(b"".join((out / name).read_bytes() for name in names))) as tar:
            self.assertEqual(data, tar.extractfile("large").read())
        self.assertLessEqual(pieces.PIECE, 60_000_000)

    def test_the_libtorch_for_gpus_takes_the_place_of_the_other(self):
        jars = pack.jars_of(["/m/pytorch-2.10.0-1.5.13-linux-x86_64.jar", "/m/pytorch-2.10.0-1.5.13.jar", "/m/classes",
                             "/m/torchfeed-0.1.0.jar"], ["/g/pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar"])
        self.assertEqual(["pytorch-2.10.0-1.5.13.jar", "pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar"],
                         [jar.name for jar in jars])


    def test_the_readme_of_a_pack_names_its_jars_with_their_licences_and_sizes(self):
        jars = ["pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar", "cuda-13.1-9.19-1.5.13.jar", "junit-jupiter-5.14.4.jar"]
        text = pack.readme(jars, {"lib": 523_400_000}, commit="abc1234", pieces=11, size=606)
        for part in ("commit abc1234, for libtorch 2.10.0 and CUDA 13.1", "11 pieces of at most 60 MB, 606 MB in all", "- `lib`: 523 MB",
                     "| `lib/junit-jupiter-5.14.4.jar` | EPL-2.0 |", "`./run --libtorch PYTHON`", "report/report.md"):
            self.assertIn(part, text)
        self.assertNotIn("$", text)

    def test_a_jar_without_a_known_licence_is_named(self):
        with self.assertRaisesRegex(SystemExit, "no licence is known of other-1.0.jar"):
            pack.readme(["other-1.0.jar"], {}, commit="abc1234", pieces=1, size=1)


class RunningParts(InAFolder):
    def run_script(self, script, judge=parts.plain, limit=10, left=100, **more):
        return parts.run(parts.Part("a part", ["sh", "-c", script], limit, judge, **more), self.folder, left)

    def test_a_part_that_fails_has_its_last_line_as_the_reason(self):
        result = self.run_script("echo first; echo 'the cause'; exit 3")
        self.assertEqual((parts.FAILED, "exit status 3: the cause"), (result.status, result.reason))

    def test_a_signal_is_named(self):
        self.assertEqual("ended by SIGSEGV: no output", self.run_script("kill -SEGV $$").reason)

    def test_a_part_that_is_not_over_is_ended_with_its_children(self):
        start = time.monotonic()
        result = self.run_script(f"echo waiting; (sleep 60; touch {self.folder}/late) & wait", limit=0.3)
        self.assertEqual(parts.TIMED_OUT, result.status)
        self.assertIn("last line: waiting", result.reason)
        self.assertLess(time.monotonic() - start, 8)

    def test_a_program_that_is_missing_fails_its_part_alone(self):
        result = parts.run(parts.Part("none", ["/no/such/program"], 5, parts.plain), self.folder, 100)
        self.assertEqual(parts.FAILED, result.status)
        self.assertIn("/no/such/program", result.reason)

    def test_no_part_begins_after_the_time_of_the_check(self):
        result = self.run_script(f"touch {self.folder}/begun", left=0)
        self.assertEqual(parts.TIMED_OUT, result.status)
        self.assertFalse((self.folder / "begun").exists())

    def test_a_part_is_not_run_after_one_that_it_needs_has_failed(self):
        part = parts.Part("test", [], 5, parts.plain, needs="build")
        self.assertEqual("build: timed out", parts.unmet(part, [("build", parts.Result(parts.TIMED_OUT))]))
        self.assertEqual("", parts.unmet(part, [("build", parts.Result(parts.PASSED))]))

    def test_a_check_succeeds_if_parts_passed_and_the_others_were_skipped(self):
        def succeeded(*statuses):
            return parts.succeeded([("a part", parts.Result(status)) for status in statuses])
        self.assertTrue(succeeded(parts.PASSED, parts.SKIPPED))
        self.assertFalse(succeeded(parts.SKIPPED))  # such as without any library of CUDA
        self.assertFalse(succeeded(parts.PASSED, parts.FAILED))
        self.assertFalse(succeeded(parts.PASSED, parts.TIMED_OUT))

    def test_nothing_is_skipped_on_a_machine_with_a_gpu(self):
        def with_a_gpu(status, reason):
            return outcome(parts.on_a_machine_with_a_gpu(parts.Result(status, reason)))
        words = "skipped although the driver reports a GPU: no device"
        self.assertEqual((parts.FAILED, words), with_a_gpu(parts.SKIPPED, "no device"))
        self.assertEqual((parts.FAILED, words), with_a_gpu(parts.PASSED, "skipped: no device"))
        self.assertEqual((parts.PASSED, ""), with_a_gpu(parts.PASSED, ""))
        self.assertEqual((parts.FAILED, "1 is not 2"), with_a_gpu(parts.FAILED, "1 is not 2"))

    def test_junit_reports_are_counted_and_reasons_kept(self):
        def tests(cases):
            xml = f"<testsuite>{cases}</testsuite>".replace("'", "\"")
            return self.run_script(f"cat > '{self.folder}/a-part/TEST-x.xml' <<'END'\n{xml}\nEND\n", parts.junit)
        skipped = "<testcase name='a'><skipped>org.X: Assumption failed: no device\n at</skipped></testcase>"
        self.assertEqual((parts.SKIPPED, "no device"), outcome(tests(skipped)))
        self.assertEqual((parts.PASSED, "skipped: no device"), outcome(tests(skipped + "<testcase name='b'/>")))
        failed = "<testcase name='c'><failure message='1 is not 2'/></testcase>"
        self.assertEqual((parts.FAILED, "c: 1 is not 2"), outcome(tests(skipped + failed)))
        self.assertEqual((parts.FAILED, "no test was found"), outcome(tests("")))

    def test_google_tests_are_counted_and_reasons_kept(self):
        output = ("[ RUN      ] A.b\nx.cc:1: Skipped\nno device\n[  SKIPPED ] A.b (0 ms)\n"
                  "[ RUN      ] A.c\n[       OK ] A.c (1 ms)\n")
        self.assertEqual((parts.PASSED, "skipped: no device"), outcome(parts.gtest(output, 0, None)))
        output += "[ RUN      ] A.d\nx.cc:1: Failure\n1 is not 2\n[  FAILED  ] A.d (1 ms)\n"
        self.assertEqual((parts.FAILED, "A.d: 1 is not 2"), outcome(parts.gtest(output, 1, None)))

    def test_rates_are_figures_without_words_in_brackets(self):
        output = ("a warning\nbare copies, batch 64: 53.8 GB/s\n"
                  "rows, 4 workers: 27 rows/s, 5.1 GB/s (gathering)\nimages, 1 workers: 1012/s, 1.000 of the first, each\n")
        result = parts.rates(output, 0, None)
        self.assertEqual(["bare copies, batch 64: 53.8 GB/s", "rows, 4 workers: 27 rows/s, 5.1 GB/s",
                          "images, 1 workers: 1012/s, 1.000 of the first, each"], result.figures)
        self.assertEqual(parts.PASSED, result.status)
        self.assertEqual((parts.FAILED, "exit status 1: x.Error: none"), outcome(parts.rates(output + "x.Error: none", 1, None)))
        self.assertEqual((parts.FAILED, "exit status 0: a warning"), outcome(parts.rates("a warning", 0, None)))

    def test_a_report_has_each_part_with_its_reason(self):
        results = [("one", parts.Result(parts.PASSED, figures=["5 GB/s"])), ("two", parts.Result(parts.FAILED, "a|b"))]
        report.write(self.folder, report.as_json({"system": "x"}, [], ["libx: missing"], results))
        page = (self.folder / "report.md").read_text()
        for text in ("| one | passed | 0 |  | 5 GB/s |", "| two | failed | 0 | a\\|b |", "- libx: missing", "not tried"):
            self.assertIn(text, page)
        self.assertEqual("failed", json.loads((self.folder / "report.json").read_text())["parts"][1]["status"])


class ThePlan(InAFolder):
    def test_only_tests_with_ranks_of_their_own_get_options_by_a_variable(self):
        made = plan.java_parts(self.folder, "/libraries", "", "", ["io.torchfeed.OtherTest"])
        with_variable = [part.name for part in made if "JAVA_TOOL_OPTIONS" in part.environment]
        ranks = [f"{where}: {what}" for where in plan.ranks(1) for what in plan.RANK_TESTS]
        self.assertEqual(list(plan.GPU_TESTS) + ranks + ["other tests tagged gpu"], with_variable)
        for part in made:
            self.assertIn(f"-Dorg.bytedeco.javacpp.cachedir={self.folder}/javacpp", part.command)
            self.assertEqual("/libraries", part.environment["LD_LIBRARY_PATH"])

    def test_the_parts_that_need_a_gpu_are_marked(self):
        made = plan.java_parts(self.folder, "", "", "", ["io.torchfeed.OtherTest"])
        made.append(plan.packed_program(self.folder, self.folder, "", ""))
        others = {"self-check", "benchmark of images on the CPU", "benchmark of samples by the number of workers",
                  "CPU tests with this libtorch"}
        self.assertEqual(others, {part.name for part in made if not part.on_gpu})
        cpp = plan.cpp_parts(self.folder, self.folder / "out", self.folder / "torch", "2.10.0", "", "")
        self.assertEqual(["gpu_transfer_test"], [part.name for part in cpp if part.on_gpu])

    def test_the_tests_that_are_selected_exist(self):
        names = [word for part in plan.java_parts(self.folder, "", "", "", []) for word in part.command]
        selected = [re.fullmatch(r"--select-(?:class|method)=([\w.]+)(?:\$(\w+))?(?:#(\w+)\(\))?", name) for name in names
                    if name.startswith("--select-")]
        self.assertGreater(len(selected), 15)
        sources = pathlib.Path(__file__).parent / "../../java-api/src/test/java"
        for match in selected:
            name, nested, method = match.groups()
            text = (sources / (name.replace(".", "/") + ".java")).read_text()
            for word in (f"class {nested}" if nested else "", f"void {method}(" if method else ""):
                self.assertIn(word, text, match.group())
        programs = [word for word in names if word.startswith("io.torchfeed.benchmarks.")]
        self.assertEqual(len(programs), 3)
        for program in programs:
            source = pathlib.Path(__file__).parent / f"../benchmarks/src/main/java/{program.replace('.', '/')}.java"
            self.assertIn("static void main(", source.read_text())

    def test_ranks_use_the_gpus_that_are_there(self):
        self.assertEqual(list(plan.ranks(1).values()), [["cuda:0", "cuda:0"], ["cuda:0", "cpu"]])
        self.assertEqual(list(plan.ranks(3).values()), [["cuda:0", "cuda:1", "cuda:2"], ["cuda:0", "cuda:1", "cuda:2", "cpu"]])
        options = [word for part in plan.java_parts(self.folder, "", "", "", [], 2) for word in part.command
                   if word.startswith("-Dtorchfeed.test.devices=")]
        self.assertEqual(sorted(set(options)), ["-Dtorchfeed.test.devices=cuda:0,cuda:1",
                                                "-Dtorchfeed.test.devices=cuda:0,cuda:1,cpu"])
        self.assertEqual(len(options), 6)

    def test_a_wrong_number_of_gpus_is_refused(self):
        for text in ("0", "9", "two", "-1"):
            with self.assertRaises(argparse.ArgumentTypeError):
                check.gpu_count(text)
        self.assertEqual(check.gpu_count("8"), 8)

    def test_builds_may_take_longer_with_fewer_than_8_processors(self):
        self.assertEqual([8, 4, 2, 1, 1], [plan.slowness(processors) for processors in (1, 2, 6, 8, 64)])
        made = {part.name: part for part in plan.cpp_parts(
            self.folder, self.folder / "out", self.folder / "torch", "2.10.0", "", "")}
        self.assertEqual(300 * plan.slowness(os.cpu_count()), made["building the C++ half"].limit)
        self.assertEqual("building the C++ half", made["feed_test"].needs)


class TheScript(InAFolder):
    def test_a_broken_piece_is_named(self):
        source = pathlib.Path(__file__).parent / "run"
        content = self.folder / "content"
        content.mkdir()
        (content / "x").write_text("x" * 100_000)
        pieces.write(content, self.folder, limit=60_000)
        (self.folder / "run").write_bytes(source.read_bytes())
        (self.folder / "piece-001").write_bytes(b"")
        part = parts.Part("the script", ["sh", str(self.folder / "run")], 10, parts.plain)
        self.assertIn("missing or broken: piece-001; copy again", parts.run(part, self.folder, 100).reason)


def outcome(result):
    """Returns status and reason."""
    return result.status, result.reason


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        unittest.main()
