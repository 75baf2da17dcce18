// SPDX-License-Identifier: Apache-2.0
/** Tests of the source over OpenDAL. */
@NullMarked
package io.torchfeed.examples.opendal;

import org.jspecify.annotations.NullMarked;
