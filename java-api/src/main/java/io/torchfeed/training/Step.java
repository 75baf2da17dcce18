// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

/**
 * A step of a {@link TrainingLoop}.
 *
 * @param number the steps completed before it, the same on all ranks
 * @param epoch the number of the epoch, from 0 on
 * @param rank in [0, {@code worldSize})
 * @param worldSize the number of ranks that take it
 */
public record Step(long number, long epoch, int rank, int worldSize) {}
