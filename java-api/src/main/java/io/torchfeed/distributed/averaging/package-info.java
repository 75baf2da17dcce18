// SPDX-License-Identifier: Apache-2.0
/**
 * Exchanges of weights between ranks, around their training steps; for torchfeed's own packages.
 *
 * <p>Each algorithm is a {@link io.torchfeed.distributed.averaging.WeightExchange} over {@link
 * io.torchfeed.distributed.averaging.FlatTensors}, one block of all weights; a {@link
 * io.torchfeed.distributed.averaging.Meeting} begins it in a group.
 */
@NullMarked
package io.torchfeed.distributed.averaging;

import org.jspecify.annotations.NullMarked;
