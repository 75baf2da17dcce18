// SPDX-License-Identifier: Apache-2.0
/**
 * Training that continues while ranks join and leave: those that are left continue from memory, and
 * every sample of an epoch is used exactly once.
 *
 * <p>{@link io.torchfeed.elastic.ElasticRanks} are the ranks of a {@link
 * io.torchfeed.training.TrainingLoop}. A loop of your own joins the group of each generation by
 * {@link io.torchfeed.elastic.ElasticGroup}, copies the state of rank 0 to the others by {@link
 * io.torchfeed.elastic.StateTransfer}, and continues in the data by {@link
 * io.torchfeed.data.loader.Batches#stateAt}. Ranks are numbered by a {@link
 * io.torchfeed.distributed.membership.Coordinator} in a process that outlives them.
 */
@NullMarked
package io.torchfeed.elastic;

import org.jspecify.annotations.NullMarked;
