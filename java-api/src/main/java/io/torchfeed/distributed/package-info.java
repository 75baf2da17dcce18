// SPDX-License-Identifier: Apache-2.0
/**
 * Training on several processes: the group of ranks, gradient reduction, and a launcher for one
 * machine.
 *
 * <p>Collectives go over Gloo, gradients through libtorch's own reducer. A peer that died or does
 * not answer is a {@link io.torchfeed.distributed.PeerLostException} on the others, never a hang
 * beyond the group's timeout. Must not import {@code io.torchfeed.data}.
 */
@NullMarked
package io.torchfeed.distributed;

import org.jspecify.annotations.NullMarked;
