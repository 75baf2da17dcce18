// SPDX-License-Identifier: Apache-2.0
/**
 * Splits of a dataset into parts: at random as PyTorch does, by groups, and stratified by class.
 */
@NullMarked
package io.torchfeed.sampler.split;

import org.jspecify.annotations.NullMarked;
