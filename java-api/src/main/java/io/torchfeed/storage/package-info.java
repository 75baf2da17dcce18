// SPDX-License-Identifier: Apache-2.0
/**
 * Bytes that datasets read: local files, objects behind {@link io.torchfeed.storage.HttpSource
 * HTTP} and in {@link io.torchfeed.storage.S3Bucket S3}, and other storage that a program plugs in
 * by a {@link io.torchfeed.storage.ByteSource}. {@link io.torchfeed.storage.ReadAhead} makes
 * reading from begin to end fast where each read waits for a server; {@link
 * io.torchfeed.storage.CachedSource} keeps the bytes on this machine, and {@link
 * io.torchfeed.storage.CachedFiles} keeps whole files, for datasets that native code reads.
 */
@NullMarked
package io.torchfeed.storage;

import org.jspecify.annotations.NullMarked;
