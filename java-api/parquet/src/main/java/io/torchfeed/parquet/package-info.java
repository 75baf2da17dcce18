// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of Parquet files as tensors: stored once as rows of fixed size, streamed, or read as a
 * table. {@link io.torchfeed.parquet.ParquetFiles} is the first class to look at. Needs Java 21, as
 * Hardwood does, which reads the files.
 */
@NullMarked
package io.torchfeed.parquet;

import org.jspecify.annotations.NullMarked;
