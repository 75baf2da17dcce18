// SPDX-License-Identifier: Apache-2.0
/**
 * The connection between the driver and its ranks, and the values that cross it. Not part of the
 * API.
 */
@NullMarked
package io.torchfeed.spark.link;

import org.jspecify.annotations.NullMarked;
