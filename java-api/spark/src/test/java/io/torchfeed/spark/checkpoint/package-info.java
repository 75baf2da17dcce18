// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.spark.checkpoint;

import org.jspecify.annotations.NullMarked;
