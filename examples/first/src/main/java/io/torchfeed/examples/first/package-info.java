// SPDX-License-Identifier: Apache-2.0
/** Eight programs to read first, each of at most 60 lines. */
@NullMarked
package io.torchfeed.examples.first;

import org.jspecify.annotations.NullMarked;
