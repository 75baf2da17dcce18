// SPDX-License-Identifier: Apache-2.0
/**
 * The works of {@link io.torchfeed.training.TrainingLoop}: the batches of a step, its gradients,
 * what undoes it, and what the ranks tell each other. Hidden; knows no membership and no
 * checkpoint.
 */
@NullMarked
package io.torchfeed.training.steps;

import org.jspecify.annotations.NullMarked;
