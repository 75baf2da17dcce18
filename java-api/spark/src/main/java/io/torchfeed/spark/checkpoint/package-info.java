// SPDX-License-Identifier: Apache-2.0
/** Checkpoints of ranks in a Hadoop file system. Not part of the API. */
@NullMarked
package io.torchfeed.spark.checkpoint;

import org.jspecify.annotations.NullMarked;
