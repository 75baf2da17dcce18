// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.spark.executor;

import org.jspecify.annotations.NullMarked;
