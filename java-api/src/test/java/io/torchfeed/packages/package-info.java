// SPDX-License-Identifier: Apache-2.0
/** The picture of the packages and their imports: .github/packages.svg. */
@NullMarked
package io.torchfeed.packages;

import org.jspecify.annotations.NullMarked;
