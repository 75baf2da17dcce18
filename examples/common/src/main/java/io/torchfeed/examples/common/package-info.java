// SPDX-License-Identifier: Apache-2.0
/** Code that the examples share: command lines, files replaced as a whole, charts, clocks. */
@NullMarked
package io.torchfeed.examples.common;

import org.jspecify.annotations.NullMarked;
