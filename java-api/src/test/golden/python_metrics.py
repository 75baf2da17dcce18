# SPDX-License-Identifier: Apache-2.0
"""Prints the results of scikit-learn's and torchmetrics' metrics.

Creates the golden file python_metrics.txt without using torchfeed. To regenerate the file:

    python python_metrics.py > ../resources/golden/python_metrics.txt

with scikit-learn 1.9.1, torchmetrics 1.9.0 and torch 2.10.0. Each line is

    <metric> <arguments> columns=<of the output> output=<row by row> target=<row by row> result=<one or more>

mean has values and weights in place of output and target. Equal scores of recall have the mean over
all orders of the candidates, which torchmetrics does not define: from torchmetrics, for each order.
torchmetrics leaves out candidates with a score of 0 or less, and gets positive ones here.
"""

import itertools
import warnings

import numpy as np
import sklearn
import sklearn.metrics as skm
import torch
import torchmetrics
from scipy.special import expit, softmax
from torchmetrics.functional.retrieval import retrieval_recall
from torchmetrics.functional.text import perplexity

warnings.filterwarnings("ignore")
random = np.random.default_rng(43)
lines = []


def text(values):
    flat = np.asarray(values).reshape(-1)
    return ",".join(repr(each.item() if isinstance(each, np.generic) else each) for each in flat)


def line(name, output, target, result, **arguments):
    columns = np.asarray(output).shape[1] if np.asarray(output).ndim > 1 else 0
    words = [name] + [f"{key}={value}" for key, value in arguments.items()]
    words += [f"columns={columns}", f"output={text(output)}", f"target={text(target)}"]
    lines.append(" ".join(words + [f"result={text(result)}"]))


def scores(rows, columns):
    return random.normal(size=(rows, columns)).astype(np.float32).astype(np.float64)


def means():
    for values, weights in [([1e16, 1.0, -1e16, 3.0], [1, 1, 1, 1]), ([0.1] * 10, range(1, 11)),
                            (random.normal(size=40), random.random(40)), ([1.0, 2.0], [0, 0.25])]:
        exact = [float(value) for value in values]
        line("mean", exact, [float(weight) for weight in weights],
             np.average(np.array(exact, np.longdouble), weights=list(weights)).astype(float))


def classes():
    for rows, number in [(50, 5), (7, 3), (1, 2)]:
        output = scores(rows, number)
        target = random.integers(0, number, rows)
        line("accuracy", output, target, skm.accuracy_score(target, output.argmax(1)), k=1)
        for k in range(2, number):
            line("accuracy", output, target,
                 skm.top_k_accuracy_score(target, output, k=k, labels=range(number)), k=k)
    cases = {
        "all": (random.integers(0, 4, 60), random.integers(0, 4, 60), 4),
        "never_chosen": ([0, 1, 2, 2, 1, 0, 2], [0, 1, 1, 0, 1, 0, 0], 3),
        "not_in_target": ([0, 1, 1, 0, 1], [0, 2, 1, 2, 1], 3),
        "in_neither": ([0, 3, 3, 0, 0, 0], [0, 3, 0, 3, 3, 0], 4),
        "binary": (random.integers(0, 2, 40), random.integers(0, 2, 40), 2),
        "no_positive": ([0, 0, 0], [0, 0, 0], 2),
        "none_right": ([0, 1, 0, 1], [1, 0, 1, 0], 2),
    }
    kinds = {"precision": skm.precision_score, "recall": skm.recall_score, "f1": skm.f1_score}
    for case, (target, chosen, number) in cases.items():
        line("confusion", chosen, target,
             skm.confusion_matrix(target, chosen, labels=range(number)), classes=number, case=case)
        for average in ["binary", "micro", "macro", "weighted"]:
            if average == "binary" and number > 2:
                continue
            for kind, score in kinds.items():
                line(kind, chosen, target, score(target, chosen, average=average),
                     classes=number, average=average, case=case)


def losses():
    for rows, number in [(40, 4), (5, 2)]:
        output = scores(rows, number) * 5
        target = random.integers(0, number, rows)
        line("logLoss", output, target,
             skm.log_loss(target, softmax(output, axis=1), labels=range(number)))
    output = scores(30, 1)[:, 0] * 4
    target = random.integers(0, 2, 30)
    line("logLoss", output, target, skm.log_loss(target, expit(output), labels=[0, 1]))
    output = scores(24, 6)
    target = random.integers(0, 6, 24)
    target[[2, 3, 11]] = -100
    line("perplexity", output, target, perplexity(
        torch.tensor(output)[None], torch.tensor(target)[None], ignore_index=-100).item())


def regressions():
    target = random.normal(size=50)
    pairs = [(target + 0.3 * random.normal(size=50), target), (target * 0, target),
             (target + 1e9, target + 1e9 + 0.25), ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0]),
             ([2.0, 2.5, 2.0], [2.0, 2.0, 2.0]), ([1.0], [3.0])]
    for output, target in pairs:
        line("rmse", output, target, skm.root_mean_squared_error(target, output))
        line("r2", output, target, skm.r2_score(target, output))


def rankings():
    output = scores(80, 1)[:, 0]
    target = (output + random.normal(size=80) > 0).astype(int)
    cases = [(output, target), (np.round(output), target), (np.zeros(80), target),
             (target.astype(float), target), (-output, target), (output[:5], np.ones(5, int)),
             (output[:5], np.zeros(5, int)), ([0.0, -0.0, 1.0, -1.0], [1, 0, 1, 0])]
    for output, target in cases:
        line("auc", output, target, skm.roc_auc_score(target, output))
        line("averagePrecision", output, target, skm.average_precision_score(target, output))


def recall(output, target, k):
    orders = itertools.permutations(range(len(output))) if len(set(output)) < len(output) else [range(len(output))]
    values = []
    for order in orders:
        # the order decides between equal scores: they become different by less than all others
        moved = output.copy()
        for place, candidate in enumerate(order):
            moved[candidate] -= 1e-6 * place
        values.append(retrieval_recall(
            torch.tensor(moved - moved.min() + 1), torch.tensor(target > 0), top_k=k).item())
    return float(np.mean(values, dtype=np.float64))


def retrievals():
    output = scores(12, 9)
    graded = random.integers(0, 4, (12, 9)) * random.integers(0, 2, (12, 9))
    graded[3] = 0
    tied = np.round(scores(8, 5))
    graded_tied = random.integers(0, 3, (8, 5))
    for scored, relevant in [(output, graded), (tied, graded_tied)]:
        for k in [1, 3, 5, 20]:
            line("ndcg", scored, relevant, skm.ndcg_score(relevant, scored, k=k), k=k)
            line("recall_at", scored, relevant, np.mean(
                [recall(o, t, min(k, len(o))) for o, t in zip(scored, relevant)]), k=k)


for part in (means, classes, losses, regressions, rankings, retrievals):
    part()
print(f"# program java-api/src/test/golden/python_metrics.py; scikit-learn {sklearn.__version__};"
      f" torchmetrics {torchmetrics.__version__}; torch {torch.__version__};"
      f" arguments none; lines {len(lines)}")
print("\n".join(lines))
