// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How libtorch's loader gathers batches. */
record NativeFeedOptions(
    int batchRows,
    int workers,
    int prefetch,
    boolean inOrder,
    @Nullable Duration timeout,
    LoaderMeter meter) {}
