// SPDX-License-Identifier: Apache-2.0
/** MNIST: its files, which are downloaded once and verified, and its batches. */
@NullMarked
package io.torchfeed.examples.common.mnist;

import org.jspecify.annotations.NullMarked;
