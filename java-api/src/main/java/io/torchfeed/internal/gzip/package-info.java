// SPDX-License-Identifier: Apache-2.0
/** The content of gzip files, none of which is skipped without an error. */
@NullMarked
package io.torchfeed.internal.gzip;

import org.jspecify.annotations.NullMarked;
