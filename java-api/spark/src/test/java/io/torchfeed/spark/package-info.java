// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.spark;

import org.jspecify.annotations.NullMarked;
