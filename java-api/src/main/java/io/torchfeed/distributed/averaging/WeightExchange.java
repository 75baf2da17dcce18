// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.distributed.Work;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** An exchange of weights between the ranks of a {@code ModelAveraging}, around training steps. */
public interface WeightExchange extends AutoCloseable {
  /**
   * Runs a training step, with the exchange that belongs to it.
   *
   * @param step the number of the step, from 0
   * @param pass computes the gradients
   * @param update changes the weights
   */
  void step(long step, Runnable pass, Runnable update);

  /** Runs a backward pass between two steps, whose gradients the next step uses. */
  default void accumulate(Runnable pass) {
    pass.run();
  }

  /** Ends the work in the background, on all ranks together. */
  default void pause() {}

  /** Ends the work in the background, on this rank, without waiting. */
  default void abandon() {}

  /** Notes that the weights of all ranks have become equal. */
  default void restart() {}

  /** Waits for all operations, and throws the first failure. */
  static void awaitAll(List<Work<Void>> works) {
    RuntimeException failure = null;
    for (Work<Void> work : works) {
      try {
        work.await();
      } catch (RuntimeException e) {
        failure = failure == null ? e : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** Returns the number of exchanges of weights so far. */
  long exchanges();

  /** Returns the state of the weights for the next exchange, in the memory where it is kept. */
  default Map<String, Tensor> kept() {
    return Map.of();
  }

  /** Continues after a number of exchanges. */
  void resume(long exchanges);

  /** Ends the exchange on this rank, without the others. */
  @Override
  default void close() {}
}
