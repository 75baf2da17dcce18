// SPDX-License-Identifier: Apache-2.0
/** Sums without rounding. Not part of the API. */
@NullMarked
package io.torchfeed.internal.sums;

import org.jspecify.annotations.NullMarked;
