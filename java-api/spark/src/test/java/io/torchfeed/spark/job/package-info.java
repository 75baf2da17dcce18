// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.spark.job;

import org.jspecify.annotations.NullMarked;
