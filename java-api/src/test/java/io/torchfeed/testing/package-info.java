// SPDX-License-Identifier: Apache-2.0
/** Helpers for tests. */
@NullMarked
package io.torchfeed.testing;

import org.jspecify.annotations.NullMarked;
