// SPDX-License-Identifier: Apache-2.0
/**
 * An example planner: predicts the balance of each sampler for a file of costs.
 *
 * <p>Start reading at {@code Main} (options), then {@code Strategy} (the samplers compared). The
 * program imports only exported torchfeed packages.
 */
@NullMarked
package io.torchfeed.examples.planner;

import org.jspecify.annotations.NullMarked;
