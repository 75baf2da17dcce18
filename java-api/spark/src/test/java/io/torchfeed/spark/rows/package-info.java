// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.spark.rows;

import org.jspecify.annotations.NullMarked;
