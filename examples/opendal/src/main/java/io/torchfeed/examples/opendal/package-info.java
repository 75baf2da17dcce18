// SPDX-License-Identifier: Apache-2.0
/** A source of bytes over Apache OpenDAL. */
@NullMarked
package io.torchfeed.examples.opendal;

import org.jspecify.annotations.NullMarked;
