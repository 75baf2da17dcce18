// SPDX-License-Identifier: Apache-2.0
/** An example: a small ResNet that learns to classify photographs in folders. */
@NullMarked
package io.torchfeed.examples.images;

import org.jspecify.annotations.NullMarked;
