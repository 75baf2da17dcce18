// SPDX-License-Identifier: Apache-2.0
/** A program that trains from Parquet files in an object store. */
@NullMarked
package io.torchfeed.examples.parquet;

import org.jspecify.annotations.NullMarked;
