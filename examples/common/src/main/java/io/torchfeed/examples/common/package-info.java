// SPDX-License-Identifier: Apache-2.0
/** Code that the examples share: files replaced as a whole, and errors shown as one line. */
@NullMarked
package io.torchfeed.examples.common;

import org.jspecify.annotations.NullMarked;
