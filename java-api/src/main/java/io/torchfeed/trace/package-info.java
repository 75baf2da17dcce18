// SPDX-License-Identifier: Apache-2.0
/**
 * Traces of all ranks of a training: who waited for whom, and in which call a rank is missing.
 *
 * <p>A {@link io.torchfeed.trace.Trace} records the newest events of a process in memory, and dumps
 * them to a file. The command {@code trace} of {@link io.torchfeed.Torchfeed} merges the files of
 * all processes into a timeline for Perfetto, and prints its findings.
 */
@NullMarked
package io.torchfeed.trace;

import org.jspecify.annotations.NullMarked;
