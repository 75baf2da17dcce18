// SPDX-License-Identifier: Apache-2.0
/**
 * The comparison of the loaders: each runs in its own process and loads epochs in turn, so that
 * machine drift affects all of them equally.
 */
@NullMarked
package io.torchfeed.benchmarks.loaders;

import org.jspecify.annotations.NullMarked;
