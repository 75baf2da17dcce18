// SPDX-License-Identifier: Apache-2.0
/**
 * The launcher of one machine: it starts the ranks of a job, each in a JVM of its own, and ends
 * them; of an elastic job, it also replaces those that are lost.
 *
 * <p>Plain Java: a launching process needs no libtorch.
 */
@NullMarked
package io.torchfeed.distributed.launch;

import org.jspecify.annotations.NullMarked;
