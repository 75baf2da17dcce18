// SPDX-License-Identifier: Apache-2.0
/**
 * The loaders side by side: each is a process of its own that loads an epoch when it is its turn,
 * so that a machine that drifts cannot decide between them.
 */
@NullMarked
package io.torchfeed.benchmarks.loaders;

import org.jspecify.annotations.NullMarked;
