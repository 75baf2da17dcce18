// SPDX-License-Identifier: Apache-2.0
/**
 * Bytes that datasets read: local files, and other storage that a program plugs in by a {@link
 * io.torchfeed.storage.ByteSource}.
 */
@NullMarked
package io.torchfeed.storage;

import org.jspecify.annotations.NullMarked;
