// SPDX-License-Identifier: Apache-2.0
/**
 * The main example: trains PyTorch's MNIST convnet with one Java process per rank.
 *
 * <p>Start reading at {@code Main} (options), then {@code Training} (one rank). The program imports
 * only exported torchfeed packages.
 */
@NullMarked
package io.torchfeed.examples.mnist;

import org.jspecify.annotations.NullMarked;
