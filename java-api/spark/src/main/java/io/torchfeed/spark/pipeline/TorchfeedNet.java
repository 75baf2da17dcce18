// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import java.io.Serializable;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A network for {@link TorchfeedEstimator}: how it is made, applied and judged. A named class of
 * the program, so that a pipeline that was saved can be loaded by another one that has it.
 *
 * @param <M> the type of the module
 */
public interface TorchfeedNet<M extends Module> extends Serializable {
  /**
   * Makes a module with fresh parameters; all ranks take the ones of rank 0.
   *
   * @return the module; the caller closes it
   */
  M create();

  /**
   * Runs the forward pass.
   *
   * @param module made by {@link #create}
   * @param inputs the input columns of a batch, {@code [B, shape...]} each
   * @return the output, of the dtype and shape of the output column
   */
  Tensor forward(M module, Tensor[] inputs);

  /**
   * Computes the loss.
   *
   * @param output the result of {@link #forward}
   * @param label the label column of the batch
   * @return a single number
   */
  Tensor loss(Tensor output, Tensor label);

  /**
   * A network with a loss for each row, for {@link TorchfeedEstimator#setWeightCol}.
   *
   * @param <M> the type of the module
   */
  interface OfRows<M extends Module> extends TorchfeedNet<M> {
    /**
     * Computes the loss of each row: as {@link #loss} without its mean.
     *
     * @param output the result of {@link #forward}
     * @param label the label column of the batch
     * @return a tensor {@code [B]}
     */
    Tensor losses(Tensor output, Tensor label);
  }
}
