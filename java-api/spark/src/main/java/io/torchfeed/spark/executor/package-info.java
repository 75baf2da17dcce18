// SPDX-License-Identifier: Apache-2.0
/**
 * The executors' side: a rank of a barrier stage, and a model over the rows of a partition. Not
 * part of the API.
 */
@NullMarked
package io.torchfeed.spark.executor;

import org.jspecify.annotations.NullMarked;
