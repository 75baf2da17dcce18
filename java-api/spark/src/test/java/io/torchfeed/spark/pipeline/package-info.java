// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.spark.pipeline;

import org.jspecify.annotations.NullMarked;
