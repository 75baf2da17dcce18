// SPDX-License-Identifier: Apache-2.0
/**
 * The passes of a loader: the order in which batches are requested, the batches in flight, and the
 * life of a pass. Not exported, not part of the API.
 */
@NullMarked
package io.torchfeed.data.pass;

import org.jspecify.annotations.NullMarked;
