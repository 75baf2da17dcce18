# SPDX-License-Identifier: Apache-2.0
"""Collects the content of a pack and writes its pieces; started by the script pack."""

import argparse
import json
import os
import pathlib
import re
import shutil
import string
import subprocess
import sys
import time

from gpu_check import pieces

PICTURES = 64
TAG = '@Tag("gpu")'
GOOGLETEST = pathlib.Path("/usr/src/googletest")
PAGE = "`LICENCES.md` lists the libraries in it"
# by the beginnings of the names of jars
LICENCES = {
    "apiguardian-": "Apache-2.0", "archunit-": "Apache-2.0, with parts under BSD-3-Clause", "assertj-": "Apache-2.0",
    "byte-buddy-": "Apache-2.0", "commons-math3-": "Apache-2.0", "cuda-": PAGE, "fastcsv-": "MIT", "jackson-": "Apache-2.0",
    "javacpp-": PAGE, "jmh-": "GPL-2.0-only WITH Classpath-exception-2.0", "jopt-simple-": "MIT", "jqwik-": "EPL-2.0",
    "jspecify-": "Apache-2.0", "junit-": "EPL-2.0", "leptonica-": PAGE, "open-test-reporting-": "Apache-2.0",
    "openblas-": PAGE, "opentelemetry-": "Apache-2.0", "opentest4j-": "Apache-2.0", "picocli-": "Apache-2.0",
    "pytorch-": PAGE, "slf4j-": "MIT", "torchfeed-": "Apache-2.0", "zstd-jni-": PAGE,
}


def main(words):
    """Makes a pack."""
    parser = argparse.ArgumentParser()
    for name in ("root", "jars", "content", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args(words)
    root, content, out = options.root, options.content, options.out
    start = time.monotonic()
    copy_jars(root, options.jars, content / "lib")
    for folder in ("java-api/target/classes", "java-api/target/test-classes", "java-api/src/test/resources",
                   "native/target/platform"):
        shutil.copytree(root / folder, content / folder)
    shutil.copytree(root / "examples/benchmarks/target/classes", content / "benchmarks/classes")
    built = root / "native/target/cmake"
    copy(built / "libtorchfeed_fake_device.so", content / "native/target/cmake/libtorchfeed_fake_device.so")
    copy(built / "libtorchfeed.so", content / "programs/libtorchfeed.so")
    copy(built / "test/gpu_transfer_test", content / "programs/gpu_transfer_test")
    # which libtorchfeed.so is linked with
    for library in (built / "preset/leptonica").rglob("libleptonica.so*"):
        copy(library, content / "programs" / library.name)
    copy_sources(root, content)
    copy_pictures(options.pictures or root / "java-api/src/test/resources/golden/images", content,
                  repeat=options.pictures is None)
    commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    facts = {"torchfeed's commit": commit.stdout.strip() or "not known",
             "pictures": "given to pack" if options.pictures else "small ones of the tests, repeated"}
    (content / "pack.json").write_text(json.dumps({"facts": facts, "gpu tests": gpu_tests(root)}, indent=2) + "\n")
    for old in list(out.glob("piece-*")) + [out / "SHA256SUMS"]:
        old.unlink(missing_ok=True)
    names = pieces.write(content, out)
    copy(root / "examples/gpu-check/run", out / "run")
    for file in ("LICENSE", "native/NOTICE", "java-api/LICENCES.md"):
        copy(root / file, out / pathlib.Path(file).name)
    total = sum((out / name).stat().st_size for name in names)
    sizes = sizes_of(content)
    (out / "README.md").write_text(readme([jar.name for jar in (content / "lib").iterdir()], sizes, commit=commit.stdout.strip() or "not known",
                                          pieces=len(names), size=round(total / 1e6)))
    print(f"pack: {len(names)} pieces, {total / 1e6:.0f} MB in {out}, {time.monotonic() - start:.0f} s")
    for name, size in sizes.items():
        print(f"pack: {size / 1e6:7.0f} MB {name}")
    return 0


def sizes_of(content):
    """Returns the folders of the content that have a megabyte or more, with their bytes."""
    sizes = {folder.name: sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
             for folder in sorted(content.iterdir()) if folder.is_dir()}
    return {name: size for name, size in sizes.items() if size >= 1e6}


def licence_of(jar):
    """Returns the licence of a jar."""
    for start, licence in LICENCES.items():
        if jar.startswith(start):
            return licence
    raise SystemExit(f"pack: no licence is known of {jar}; add it to LICENCES in {pathlib.Path(__file__).name}")


def readme(jars, sizes, **facts):
    """Returns the README of a pack: its commit, pieces and size are facts."""
    def version(name):
        found = [re.match(name + r"-(\d[^-]*)-", jar) for jar in jars]
        return next((match[1] for match in found if match), "not known")

    template = (pathlib.Path(__file__).parent / "pack_readme.txt").read_text()
    rows = "\n".join(f"- `{name}`: {size / 1e6:.0f} MB" for name, size in sizes.items())
    licences = "\n".join(f"| `lib/{jar}` | {licence_of(jar)} |" for jar in sorted(jars))
    return string.Template(template).substitute(
        facts, sizes=rows, licences=licences, limit=round(pieces.PIECE / 1e6), libtorch=version("pytorch"), cuda=version("cuda"))


def copy(source, target):
    """Copies a file with its mode, and creates the folder for it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def jars_of(class_paths, for_gpus):
    """Returns the jars of a pack: those of the class paths, with libtorch's for GPUs in place of the CPU's."""
    jars = {}
    for entry in class_paths + for_gpus:
        path = pathlib.Path(entry)
        is_cpu_libtorch = path.name.startswith("pytorch-") and path.name.endswith("-linux-x86_64.jar")
        # torchfeed's own classes are packed as folders
        if path.suffix == ".jar" and not is_cpu_libtorch and not path.name.startswith("torchfeed-0"):
            jars.setdefault(path.name, path)
    return list(jars.values())


def copy_jars(root, extra, target):
    """Copies the jars."""
    entries = []
    for file in ("java-api/target/test-classpath", "examples/benchmarks/target/classpath"):
        entries += (root / file).read_text().strip().split(":")
    target.mkdir(parents=True)
    for jar in jars_of(entries, sorted(str(jar) for jar in extra.glob("*.jar"))):
        # hard links save 500 MB where they are possible
        try:
            os.link(jar, target / jar.name)
        except OSError:
            shutil.copy2(jar, target / jar.name)


def copy_sources(root, content):
    """Copies what --libtorch builds, and the check itself."""
    wanted = ["pom.xml", "LICENSE", "cmake", "native"]
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--"] + wanted, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (root / name).is_file():
            copy(root / name, content / name)
    shutil.copytree(root / "examples/gpu-check/gpu_check", content / "gpu_check",
                    ignore=shutil.ignore_patterns("__pycache__"))
    if GOOGLETEST.is_dir():
        shutil.copytree(GOOGLETEST, content / "googletest")
    else:
        print(f"pack: {GOOGLETEST} is missing (Debian: googletest), so --libtorch will not work", file=sys.stderr)


def copy_pictures(source, content, repeat):
    """Copies JPEG files, in one class, and lists them."""
    files = sorted(path for path in source.rglob("*.jpg") if path.stat().st_size > 2000)
    if repeat:
        # the decoder takes these kinds; others test errors
        files = [path for path in files if path.name in ("420.jpg", "444_odd.jpg", "rgb.jpg", "422_progressive.jpg")]
        files = (files * PICTURES)[:PICTURES]
    if len(files) < PICTURES:
        raise SystemExit(f"pack: there are {len(files)} JPEG files in {source}, {PICTURES} are needed")
    folder = content / "pictures/all"
    folder.mkdir(parents=True)
    names = []
    for number, path in enumerate(files[:PICTURES]):
        names.append(f"all/{number:03d}.jpg")
        shutil.copy2(path, folder / f"{number:03d}.jpg")
    (content / "pictures.txt").write_text("".join(name + "\n" for name in names))


def gpu_tests(root):
    """Returns the classes that have tests tagged `gpu`."""
    sources = root / "java-api/src/test/java"
    return [".".join(path.relative_to(sources).with_suffix("").parts) for path in sorted(sources.rglob("*.java"))
            if TAG in path.read_text()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
