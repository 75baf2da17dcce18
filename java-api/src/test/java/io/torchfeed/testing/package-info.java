// SPDX-License-Identifier: Apache-2.0
/** Helpers of the tests. */
@NullMarked
package io.torchfeed.testing;

import org.jspecify.annotations.NullMarked;
