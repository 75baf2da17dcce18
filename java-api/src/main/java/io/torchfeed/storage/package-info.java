// SPDX-License-Identifier: Apache-2.0
/**
 * Bytes that datasets read: local files, objects behind {@link io.torchfeed.storage.HttpSource
 * HTTP}, and other storage that a program plugs in by a {@link io.torchfeed.storage.ByteSource}.
 * {@link io.torchfeed.storage.ReadAhead} makes reading from begin to end fast where each read waits
 * for a server.
 */
@NullMarked
package io.torchfeed.storage;

import org.jspecify.annotations.NullMarked;
