# SPDX-License-Identifier: Apache-2.0
"""Runs the parts of a check, each in a process of its own and within a time, and judges their outputs."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import typing
import xml.etree.ElementTree

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"
TIMED_OUT = "timed out"
KILL_SECONDS = 5
REASON_LENGTH = 400
SOME_SKIPPED = "skipped: "  # begins the reason of a part that passed without all of its tests


@dataclasses.dataclass
class Result:
    """How a part ended, why, and the figures that it measured."""

    status: str
    reason: str = ""
    figures: typing.List[str] = dataclasses.field(default_factory=list)
    seconds: float = 0


@dataclasses.dataclass
class Part:
    """A command with its limit in seconds; `judge` makes the result of its output, exit status and folder."""

    name: str
    command: typing.List[str]
    limit: int
    judge: typing.Callable
    environment: typing.Dict[str, str] = dataclasses.field(default_factory=dict)
    directory: typing.Optional[str] = None
    skip: str = ""  # why it is not run at all
    needs: str = ""  # the part without which it is not run
    on_gpu: bool = False  # whether it is skipped only where there is no GPU


def shortened(text):
    """Returns a text as one line of limited length."""
    line = " ".join(text.split())
    return line if len(line) <= REASON_LENGTH else line[:REASON_LENGTH - 3] + "..."


def ending(status):
    """Describes an exit status."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def last_words(output):
    """Returns the last line of an output that is not empty."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def unmet(part, results):
    """Returns why a part cannot run after these results, as pairs of name and result; empty if it can."""
    for name, result in results:
        if name == part.needs and result.status != PASSED:
            return f"{name}: {result.status}"
    return ""


def succeeded(results):
    """Returns whether parts passed and all others were skipped; the results are pairs of name and result."""
    return {PASSED} <= {result.status for _, result in results} <= {PASSED, SKIPPED}


def on_a_machine_with_a_gpu(result):
    """Returns the result of a part `on_gpu` where the driver reports a GPU: then nothing may be skipped."""
    if result.status == SKIPPED or result.reason.startswith(SOME_SKIPPED):
        reason = result.reason[len(SOME_SKIPPED):] if result.reason.startswith(SOME_SKIPPED) else result.reason
        return dataclasses.replace(result, status=FAILED, reason=f"skipped although the driver reports a GPU: {reason}")
    return result


def run(part, folder, seconds_left):
    """Runs a part; its output goes to a file in the folder. Never raises for what the part does."""
    if part.skip:
        return Result(SKIPPED, shortened(part.skip))
    limit = min(part.limit, seconds_left)
    if seconds_left < 1:
        return Result(TIMED_OUT, "not begun: the time of the whole check was over")
    own = pathlib.Path(folder) / re.sub(r"[^a-z0-9]+", "-", part.name.lower()).strip("-")
    own.mkdir(parents=True, exist_ok=True)
    command = [word.replace("{out}", str(own)) for word in part.command]
    start = time.monotonic()
    log = own / "output.txt"
    try:
        status = _status(part, command, log, limit)
        output = log.read_text(errors="replace")
        if status is None:
            result = Result(TIMED_OUT, f"not over after {limit:.0f} s; last line: {last_words(output)}")
        else:
            result = part.judge(output, status, own)
    except Exception as error:  # each part fails alone, whatever is wrong with it
        result = Result(FAILED, f"{type(error).__name__}: {error}")
    result.seconds = round(time.monotonic() - start, 1)
    result.reason = shortened(result.reason)
    return result


def _status(part, command, log, limit):
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   cwd=part.directory, env=dict(os.environ, **part.environment),
                                   start_new_session=True)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)


def _end(process):
    """Ends all processes of a part, also those that outlived its first one."""
    for which in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, which)
        except ProcessLookupError:
            break
        try:
            process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def plain(output, status, _folder):
    """Judges by the exit status alone."""
    return Result(PASSED) if status == 0 else Result(FAILED, f"{ending(status)}: {last_words(output)}")


def self_check(output, status, _folder):
    """Judges the output of torchfeed's self-check."""
    facts = [line for line in output.splitlines() if re.match(r"(libtorch|cuda|devices|pinning)\s", line)]
    failures = [line for line in output.splitlines() if "FAILED" in line]
    if status == 0 and not failures:
        return Result(PASSED, figures=[" ".join(fact.split()) for fact in facts])
    return Result(FAILED, failures[0] if failures else f"{ending(status)}: {last_words(output)}")


def junit(output, status, folder):
    """Judges the reports of JUnit's console launcher, written to the folder of the part."""
    passed, skips, failures = 0, [], []
    for path in sorted(folder.glob("TEST-*.xml")):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            failure = case.find("failure")
            failure = case.find("error") if failure is None else failure
            skipped = case.find("skipped")
            if failure is not None:
                failures.append(f"{case.get('name')}: {failure.get('message') or failure.get('type')}")
            elif skipped is not None:
                skips.append(_skip_reason(skipped.text or skipped.get("message") or ""))
            else:
                passed += 1
    return _of_tests(output, status, passed, skips, failures)


def _skip_reason(text):
    first = text.strip().split("\n")[0]
    return first.split("Assumption failed: ")[-1] or "no reason given"


def gtest(output, status, _folder):
    """Judges the output of a GoogleTest program."""
    passed = len(re.findall(r"^\[       OK \]", output, re.MULTILINE))
    lines = output.splitlines()
    skips, failures = [], []
    reason = ""
    for number, line in enumerate(lines):
        if line.startswith("[ RUN"):
            reason = ""
        elif re.search(r": (Skipped|Failure)$", line) and not reason:
            reason = lines[number + 1] if number + 1 < len(lines) else ""
        elif line.startswith("[  SKIPPED ]") and " ms)" in line:
            skips.append(reason or "no reason given")
        elif line.startswith("[  FAILED  ]") and " ms)" in line:
            failures.append(f"{line[13:].split(' (')[0]}: {reason}")
    return _of_tests(output, status, passed, skips, failures)


def _of_tests(output, status, passed, skips, failures):
    counts = [f"{passed} passed, {len(skips)} skipped, {len(failures)} failed"]
    if failures:
        return Result(FAILED, failures[0], counts)
    if status != 0:
        return Result(FAILED, f"{ending(status)}: {last_words(output)}", counts)
    if passed:
        return Result(PASSED, SOME_SKIPPED + skips[0] if skips else "", counts)
    if skips:
        return Result(SKIPPED, skips[0], counts)
    return Result(FAILED, "no test was found", counts)


def jmh(output, status, folder):
    """Judges the results of a run of JMH, written to the folder of the part."""
    path = folder / "jmh.json"
    results = json.loads(path.read_text()) if path.is_file() and path.stat().st_size else []
    figures = []
    for result in results:
        metric = result["primaryMetric"]
        figures.append(f"{result['benchmark'].split('.')[-1]}: {metric['score']:.4g} {metric['scoreUnit']}")
    if status == 0 and figures:
        return Result(PASSED, figures=figures)
    errors = [line for line in output.splitlines() if re.match(r"(Caused by: )?[\w.$]+(Exception|Error)\b", line)]
    reason = errors[0] if errors else last_words(output)
    return Result(FAILED, reason if figures or status == 0 else f"{ending(status)}: {reason}", figures)


def lines_with_figures(output, status, _folder):
    """Judges a program that prints `done PICTURES PROCESSOR_NANOS NANOS`; the last line counts."""
    done = [line.split() for line in output.splitlines() if line.startswith("done ")]
    if status != 0 or not done:
        return Result(FAILED, f"{ending(status)}: {last_words(output)}")
    _, pictures, processor, nanos = done[-1]
    return Result(PASSED, figures=[
        f"{int(pictures) / int(nanos) * 1e9:.0f} pictures/s, {int(pictures) / int(processor) * 1e9:.0f} per second of a core"])


def rates(output, status, _folder):
    """Judges a program that prints a line for each rate, such as `4 workers: 27.8 GB/s`, without words in brackets."""
    figures = [line.split(" (")[0] for line in output.splitlines() if re.search(r"\d( \w+)?/s\b", line)]
    if status == 0 and figures:
        return Result(PASSED, figures=figures)
    return Result(FAILED, f"{ending(status)}: {last_words(output)}", figures)
