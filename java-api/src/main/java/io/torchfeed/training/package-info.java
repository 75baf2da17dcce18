// SPDX-License-Identifier: Apache-2.0
/**
 * One training loop for a process alone, a group of ranks, elastic ranks, and the ranks of Spark:
 * it keeps epochs, steps, the position in the data and checkpoints, evaluates the model, and stops
 * early.
 *
 * <p>{@link io.torchfeed.training.TrainingLoop} is that loop, {@link io.torchfeed.training.Ranks}
 * where its ranks come from. A loop of your own needs neither: it takes the batches of a {@link
 * io.torchfeed.data.loader.DataLoader}, or of a {@link io.torchfeed.training.Progress}, which is a
 * part of a training state. Must not import the sources of ranks: {@code io.torchfeed.elastic}, and
 * Spark's packages.
 */
@NullMarked
package io.torchfeed.training;

import org.jspecify.annotations.NullMarked;
