// SPDX-License-Identifier: Apache-2.0
/**
 * A campaign of faults: ranks that train MNIST are killed, stopped and replaced at random moments,
 * and the logs of all of them must show afterwards that nothing was lost.
 *
 * <p>Start reading at {@code Faults} (options), then {@code Campaign} (does the faults) and {@code
 * FaultRank} (a rank). {@code Verdict} and {@code Replay} decide whether it held.
 */
@NullMarked
package io.torchfeed.examples.mnist.faults;

import org.jspecify.annotations.NullMarked;
