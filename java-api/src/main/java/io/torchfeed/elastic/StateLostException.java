// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

/**
 * Thrown when all ranks that held the state of a training are lost, and no checkpoint has it: to
 * begin again would use samples twice without notice. Start the job again with a checkpoint, or
 * from the beginning.
 */
public final class StateLostException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  StateLostException(String checkpoints) {
    super(
        "all ranks that held the state of the training are lost, and "
            + checkpoints
            + "; start the job again to begin at step 0");
  }
}
