// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of a DataFrame as rows of tensors, stored for a rank, and the output of a model as a column.
 * Not part of the API.
 */
@NullMarked
package io.torchfeed.spark.rows;

import org.jspecify.annotations.NullMarked;
