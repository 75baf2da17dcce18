// SPDX-License-Identifier: Apache-2.0
/** What the examples share: files that are replaced as a whole, and errors shown as one line. */
@NullMarked
package io.torchfeed.examples.common;

import org.jspecify.annotations.NullMarked;
