// SPDX-License-Identifier: Apache-2.0
/**
 * The recording of {@link io.torchfeed.trace.Trace}: a ring of events in memory, and its dumps.
 * Hidden; knows no group, no loader and no loop, which call it.
 */
@NullMarked
package io.torchfeed.trace.ring;

import org.jspecify.annotations.NullMarked;
