// SPDX-License-Identifier: Apache-2.0
/**
 * The works of {@link io.torchfeed.training.TrainingLoop}: the batches of a step, its gradients,
 * the way back from a failed one, and the exchanges between ranks. Hidden; knows no membership and
 * no checkpoint.
 */
@NullMarked
package io.torchfeed.training.steps;

import org.jspecify.annotations.NullMarked;
