# SPDX-License-Identifier: Apache-2.0
"""Prints java-api/src/test/resources/golden/mixed_precision.txt.

Needs torch 2.10.0. Lines: "scaler: scale, growth factor, backoff factor, growth interval", then per
step "gradient factor, performed, scale, steps without overflow, weights"; "autocast: device, dtype",
then per operation "name, dtype of the result, values".
"""

import math

import torch

HEX = float.hex


def texts(tensor):
    return " ".join(HEX(float(value)) for value in tensor.detach().float().flatten())


def scaler_steps(scale, growth, backoff, interval, factors):
    """Trains one layer; each step multiplies the loss by a factor that may overflow."""
    print(f"scaler {HEX(scale)} {HEX(growth)} {HEX(backoff)} {interval}")
    weight = torch.nn.Parameter(torch.tensor([0.5, -0.25, 1.0, 0.125]))
    optimizer = torch.optim.SGD([weight], lr=0.125)
    scaler = torch.amp.GradScaler(
        "cpu", init_scale=scale, growth_factor=growth, backoff_factor=backoff, growth_interval=interval
    )
    performed = []
    plain_step = optimizer.step
    optimizer.step = lambda *args, **kwargs: (performed.append(True), plain_step())[1]
    rows = torch.tensor([1.0, 2.0, -3.0, 0.5])
    for factor in factors:
        optimizer.zero_grad()
        performed.clear()
        loss = (weight * rows).pow(2).sum() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        state = scaler.state_dict()
        print(
            "step",
            HEX(factor),
            "performed" if performed else "skipped",
            HEX(state["scale"]),
            state["_growth_tracker"],
            texts(weight),
        )


def autocast_results(dtype):
    """Numbers that every dtype holds exactly, so that no order of summation matters."""
    print("autocast cpu", str(dtype).removeprefix("torch."))
    a = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 4
    b = torch.arange(8, dtype=torch.float32).reshape(4, 2) / 2 - 1
    bias = torch.tensor([0.5, -0.5])
    with torch.autocast("cpu", dtype):
        product = torch.matmul(a, b)
        results = {
            "matmul": product,
            "linear": torch.nn.functional.linear(a, b.t(), bias),
            "add": product + a[:, :2],
            "relu": torch.relu(product),
            "mse_loss": torch.nn.functional.mse_loss(product, torch.zeros(3, 2, dtype=dtype)),
        }
        with torch.autocast("cpu", enabled=False):
            results["disabled"] = torch.matmul(a, b)
        results["nested"] = torch.matmul(a, b)
    results["after"] = torch.matmul(a, b)
    for name, result in results.items():
        print(name, str(result.dtype).removeprefix("torch."), texts(result))


if __name__ == "__main__":
    print("# torch", torch.__version__.split("+")[0], "by native/test/golden/mixed_precision.py")
    scaler_steps(65536.0, 2.0, 0.5, 3, [1.0] * 4 + [math.inf, 1.0, math.nan, 1.0, 1.0, 1.0, 1.0])
    scaler_steps(2.0**126, 2.0, 0.5, 1, [2.0**-130, 2.0**-130, 2.0**-130, 1.0])
    scaler_steps(3.0, 1.7, 0.3, 2, [1.0, 1.0, 1.0, math.inf, 1.0])
    autocast_results(torch.bfloat16)
    autocast_results(torch.float16)
