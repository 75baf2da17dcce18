// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import org.bytedeco.pytorch.Tensor;

/**
 * Averages gradients in the first steps, and weights every few steps after them.
 *
 * <p>Source: PyTorch, {@code PeriodicModelAverager} after {@code post_localSGD_hook}.
 */
public final class LocalExchange implements WeightExchange {
  private final ProcessGroup group;
  private final Tensor[] parameters;
  private final FlatTensors weights;
  private final long start;
  private final long period;
  private long exchanges;

  /**
   * Creates an exchange.
   *
   * @param parameters as the module has them, with gradients
   * @param weights the same, without; borrowed
   */
  public LocalExchange(
      ProcessGroup group, Tensor[] parameters, FlatTensors weights, long start, long period) {
    this.group = group;
    this.parameters = parameters;
    this.weights = weights;
    this.start = start;
    this.period = period;
  }

  @Override
  public void step(long step, Runnable pass, Runnable update) {
    pass.run();
    if (step < start) {
      GradientMean.average(parameters, group);
    }
    update.run();
    if (step >= start && (step - start) % period == 0) {
      weights.load();
      group.unchecked().allReduce(weights.values(), ReduceOp.MEAN);
      weights.store();
      exchanges++;
    }
  }

  @Override
  public long exchanges() {
    return exchanges;
  }

  @Override
  public void resume(long exchanges) {
    this.exchanges = exchanges;
  }
}
