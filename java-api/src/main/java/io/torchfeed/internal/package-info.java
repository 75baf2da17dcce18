// SPDX-License-Identifier: Apache-2.0
/**
 * Helpers shared by several packages. Not exported, not part of the API.
 *
 * <p>This package is plain Java and imports nothing from torchfeed, so that every package may use
 * it.
 */
@NullMarked
package io.torchfeed.internal;

import org.jspecify.annotations.NullMarked;
