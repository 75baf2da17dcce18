# SPDX-License-Identifier: Apache-2.0
"""The parts of a check, for the packed Java and for a Python's libtorch."""

import math
import os
import pathlib
import re

from gpu_check import parts

JUNIT = "org.junit.platform.console.ConsoleLauncher"
OPTIONS = ["-XX:+UseSerialGC", "-Xms512m", "-Xmx512m", "-XX:TieredStopAtLevel=1"]
GROUP = "io.torchfeed.distributed.DeviceGroupTest$OnAGpu"
# Without a GPU, each test of these is skipped by itself, with its reason.
GPU_TESTS = {
    "two ranks on one GPU, over Gloo": [
        "--select-method=io.torchfeed.distributed.DistributedTest#ranksThatShareAGpuTrainAsThoseOfTheCpu()",
        f"--select-method={GROUP}#twoRanksExchangeTensorsOfOneGpuThroughHostMemory()"],
    "NCCL with one rank": [
        f"--select-method={GROUP}#{test}()" for test in (
            "collectivesOverNcclLeaveTheValuesOfOneRank", "aModelTrainsOverNcclAsOnTheCpu",
            "anAbortedGroupRefusesTensorsOfTheDevice")],
    "mixed precision": [f"--select-method={GROUP}#trainingInMixedPrecisionReducesTheLoss()"],
    "pinned transfer by the loaders": ["--select-class=io.torchfeed.data.loader.DeviceLoaderTest$OnAGpu"],
    "rows gathered by the GPU": ["--select-class=io.torchfeed.data.DeviceGatherTest$OnAGpu"],
    "pictures normalized on the GPU": ["--select-class=io.torchfeed.image.ImageTensorPlanDeviceTest$OnAGpu"],
    "nvJPEG": ["--select-class=io.torchfeed.image.NvJpegDecoderTest$OnAGpu"],
}
# Parts of ranks that are processes, tried on several lists of devices.
RANKS = "io.torchfeed.elastic.DeviceRanksTest"
RANK_TESTS = {"training": "ranksTrainAsThoseOfTheCpu", "a lost rank": "theOthersNoticeALostRank",
              "an elastic training": "elasticRanksGoOnWithoutALostOne"}
COVERED = re.compile(r"DeviceRanksTest|DistributedTest|DeviceGroupTest|DeviceLoaderTest|DeviceGatherTest|ImageTensorPlanDeviceTest|NvJpegDecoderTest")
CPU_CLASSES = ["io.torchfeed.SelfCheckTest", "io.torchfeed.data.TensorDatasetTest", "io.torchfeed.data.contract.NativePassTest",
               "io.torchfeed.memory.SlabTest", "io.torchfeed.image.ImagePlanTest",
               "io.torchfeed.distributed.CollectivesTest"]
BENCHMARKS = {
    "benchmark transfer": ["[.]TransferBenchmark"],
    "benchmark of pictures sent and normalized": ["ImageTransferBenchmark"],
    "benchmark nvjpeg": ["DeviceDecodeBenchmark.on", "-p", "data={pictures}"],
    "benchmark nvjpeg ahead of a step": ["DeviceDecodeBenchmark.ahead", "-p", "data={pictures}", "-p", "workers=1,4"],
    "benchmark of that step alone": ["DeviceDecodeBenchmark.step", "-p", "data={pictures}", "-p", "workers=1"],
}
# Program and tests: without those of ranks that are lost, which wait for it.
CPP_TESTS = {
    "gpu_transfer_test": "*",
    "device_test": "*",
    "device_group_test": "*",
    "feed_test": "Slab.*:BatchFeed.*:*/Feeds.*",
    "group_test": "Collectives.*:*/CollectivesOfRanks.*:CheckedCalls.*",
    "reduce_test": "GradientReducer.*:ReducerStates.*",
}

BUILD_SECONDS = 300  # for the C++ half, with 8 processors


def slowness(processors):
    """Returns by how much the limits of builds are longer than with 8 processors or more."""
    return max(1, math.ceil(8 / processors))


def ranks(gpus):
    """Returns names and devices of the ranks to try on a number of GPUs: what NCCL connects, and what Gloo does."""
    own = [f"cuda:{gpu}" for gpu in range(gpus)]
    if gpus > 1:
        return {f"{gpus} ranks, each with a GPU, over NCCL": own, "a rank without a GPU, over Gloo": own + ["cpu"]}
    return {"two ranks on one GPU, over Gloo": ["cuda:0", "cuda:0"], "a rank without a GPU, over Gloo": ["cuda:0", "cpu"]}


def java_parts(root, library_path, obstacle, gpu_obstacle, tests, gpus=1):
    """Returns the parts that run on the packed Java runtime.

    obstacle: why libtorch cannot be loaded; gpu_obstacle: why there is no device for benchmarks, both
    empty if there is none; tests: the classes that have tests tagged `gpu`; gpus: the number of GPUs for ranks
    """
    root = pathlib.Path(root)
    java = str(root / "jre/bin/java")
    classes = ["java-api/target/test-classes", "java-api/target/classes", "benchmarks/classes",
               "native/target/platform"]
    jars = sorted(str(jar) for jar in (root / "lib").glob("*.jar"))
    path = ":".join([str(root / name) for name in classes] + jars)
    properties = [f"-Dorg.bytedeco.javacpp.cachedir={root}/javacpp", "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0"]
    environment = {"LD_LIBRARY_PATH": library_path}
    # For ranks in JVMs of their own; not for all, since each JVM then prints a line that some tests do not expect.
    for_children = dict(environment, JAVA_TOOL_OPTIONS=" ".join(properties))
    home = str(root / "java-api")

    def part(name, words, limit, judge, skip="", variables=environment, on_gpu=False):
        return parts.Part(name, [java] + OPTIONS + properties + ["-cp", path] + words, limit, judge, variables, home,
                          obstacle or skip, on_gpu=on_gpu)

    def junit(name, selection, limit, tagged, more=()):
        words = list(more) + [JUNIT, "execute", "--disable-banner", "--details=summary", "--reports-dir={out}"]
        return part(name, words + (["--include-tag=gpu"] if tagged else ["--exclude-tag=gpu"]) + selection, limit,
                    parts.junit, variables=for_children if tagged else environment, on_gpu=tagged)

    made = [part("self-check", ["io.torchfeed.Torchfeed"], 90, parts.self_check)]
    made += [junit(name, selection, 75, True) for name, selection in GPU_TESTS.items()]
    for where, devices in ranks(gpus).items():
        for what, test in RANK_TESTS.items():
            made.append(junit(f"{where}: {what}", [f"--select-method={RANKS}#{test}()"], 75, True,
                              ["-Dtorchfeed.test.devices=" + ",".join(devices)]))
    others = [name for name in tests if not COVERED.search(name)]
    if others:
        made.append(junit("other tests tagged gpu", [f"--select-class={name}" for name in others], 60, True))
    # One fork, each time short: a first look, not a measurement.
    times = ["-f", "1", "-wi", "2", "-w", "1", "-i", "3", "-r", "1", "-foe", "true", "-rf", "json", "-rff",
             "{out}/jmh.json"]
    for name, words in BENCHMARKS.items():
        words = [word.replace("{pictures}", str(root / "pictures")) for word in words]
        made.append(part(name, ["org.openjdk.jmh.Main"] + words + times, 60, parts.jmh, gpu_obstacle,
                         on_gpu=True))
    listing = root / "pictures.txt"
    contestant = [java, "-Xmx512m"] + properties + ["-cp", path, "io.torchfeed.benchmarks.ImagesContestant",
                                                    "torchfeed-native"]
    made.append(parts.Part(
        "benchmark of images on the CPU",
        ["sh", "-c", 'for i in 1 2 3; do echo "torchfeed-native train $0 $1"; done | (shift; exec "$@")',
         str(listing), str(root / "pictures")] + contestant, 45, parts.lines_with_figures, environment, home, obstacle))
    threads = [str(count) for count in (1, 4, 8, 16) if count == 1 or count <= os.cpu_count()]
    rates = [java, "-Xmx512m"] + properties + ["-cp", path]
    made.append(parts.Part(
        "benchmark of rows on their way to the GPU",
        rates + ["io.torchfeed.benchmarks.DeviceLoaders", "cuda:0", "0.15", "-1", "0"] + threads, 90, parts.rates,
        environment, home, obstacle or gpu_obstacle, on_gpu=True))
    made.append(parts.Part(
        "benchmark of samples by the number of workers",
        rates + ["io.torchfeed.benchmarks.Workers", "0.15", str(root / "pictures")] + threads, 90, parts.rates,
        environment, home, obstacle))
    made.append(junit("CPU tests with this libtorch", [f"--select-class={name}" for name in CPU_CLASSES], 90, False))
    return made


def packed_program(root, libtorch, library_path, obstacle):
    """Returns the part of the C++ test that was built where the pack was made."""
    programs = pathlib.Path(root) / "programs"
    environment = {"LD_LIBRARY_PATH": f"{programs}:{libtorch}:{library_path}"}
    # As if linked with it: libtorch registers its devices when the library is loaded.
    command = ["env", f"LD_PRELOAD={libtorch}/libtorch_cuda.so", str(programs / "gpu_transfer_test")]
    return parts.Part("pinned transfer in C++", command, 60, parts.gtest, environment, None, obstacle, on_gpu=True)


def cpp_parts(root, work, torch, version, library_path, obstacle):
    """Returns the parts that build the C++ half against a Python's libtorch, and run its tests.

    obstacle: why libtorch's library for CUDA cannot be loaded, empty if it can
    """
    root, work, torch = pathlib.Path(root), pathlib.Path(work), pathlib.Path(torch)
    build, prefix = work / "cpp", work / "googletest"
    jobs = str(os.cpu_count())  # make's own default has no limit
    slower = slowness(os.cpu_count())
    leptonica = next((root / "lib").glob("leptonica-*-linux-x86_64.jar"), root / "lib/leptonica.jar")
    googletest = ["sh", "-c", 'cmake -S "$0" -B "$1/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_GMOCK=OFF '
                  '-DCMAKE_INSTALL_PREFIX="$1" -DCMAKE_INSTALL_LIBDIR=lib && '
                  'cmake --build "$1/build" --parallel "$2" && cmake --install "$1/build"',
                  str(root / "googletest"), str(prefix), jobs]
    configure = ["cmake", "-S", str(root / "native"), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
                 "-DTORCHFEED_UNITY=ON", "-DTORCHFEED_PRECOMPILE=ON", f"-DTORCHFEED_LIBTORCH_VERSION={version}",
                 f"-DTORCHFEED_LIBTORCH={torch}", f"-DTORCHFEED_LIBTORCH_LIBRARIES={torch}/lib",
                 f"-DTORCHFEED_LEPTONICA_JAR={leptonica}",
                 f"-DGTest_DIR={prefix}/lib/cmake/GTest"]
    configuring, building = f"configuring for libtorch {version}", "building the C++ half"
    made = [parts.Part("GoogleTest", googletest, 90 * slower, parts.plain),
            parts.Part(configuring, configure, 60 * slower, parts.plain, needs="GoogleTest"),
            parts.Part(building, ["cmake", "--build", str(build), "--parallel", jobs, "--target"] + list(CPP_TESTS),
                       BUILD_SECONDS * slower, parts.plain, needs=configuring)]
    leptonica_folder = build / "preset/leptonica/org/bytedeco/leptonica/linux-x86_64"
    environment = {"LD_LIBRARY_PATH": f"{build}:{torch}/lib:{leptonica_folder}:{library_path}", "OMP_NUM_THREADS": "2"}
    for name, selection in CPP_TESTS.items():
        words = [str(build / "test" / name), f"--gtest_filter={selection}"]
        is_gpu = name.startswith("gpu_")
        if is_gpu:
            words = ["env", f"LD_PRELOAD={torch}/lib/libtorch_cuda.so"] + words
        made.append(parts.Part(name, words, 60, parts.gtest, environment, None, obstacle if is_gpu else "", building,
                               is_gpu))
    return made
