// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.parquet;

import org.jspecify.annotations.NullMarked;
