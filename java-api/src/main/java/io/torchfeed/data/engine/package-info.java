// SPDX-License-Identifier: Apache-2.0
/**
 * The engines behind the loader: batches from libtorch's C++ data loader and from worker threads of
 * the JVM, the transfer to devices, free slabs and waits. Not exported, not part of the API.
 */
@NullMarked
package io.torchfeed.data.engine;

import org.jspecify.annotations.NullMarked;
