// SPDX-License-Identifier: Apache-2.0
/**
 * The members of an elastic job: a coordinator numbers the ranks that train together, generation by
 * generation.
 *
 * <p>A {@link io.torchfeed.distributed.membership.Coordinator} runs in a process that outlives
 * ranks; each rank's process has a {@link io.torchfeed.distributed.membership.Membership}. Between
 * two generations nothing is lost that a rank holds in memory: the rank that has come furthest is
 * rank 0 of the next one, and the others take the state from it.
 *
 * <p>Plain Java: neither side needs libtorch.
 */
@NullMarked
package io.torchfeed.distributed.membership;

import org.jspecify.annotations.NullMarked;
