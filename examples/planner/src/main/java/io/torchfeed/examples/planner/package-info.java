// SPDX-License-Identifier: Apache-2.0
/**
 * A planner to look at: what each sampler would do with the costs of a file.
 *
 * <p>Start reading at {@code Main} (options), then {@code Strategy} (the samplers that are
 * compared). Imports exported torchfeed packages only.
 */
@NullMarked
package io.torchfeed.examples.planner;

import org.jspecify.annotations.NullMarked;
