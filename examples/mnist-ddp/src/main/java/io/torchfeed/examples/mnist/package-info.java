// SPDX-License-Identifier: Apache-2.0
/**
 * The main job: trains PyTorch's MNIST convnet with one Java process a rank.
 *
 * <p>Start reading at {@code Main} (options), then {@code Training} (the loop of one rank). Imports
 * exported torchfeed packages only.
 */
@NullMarked
package io.torchfeed.examples.mnist;

import org.jspecify.annotations.NullMarked;
