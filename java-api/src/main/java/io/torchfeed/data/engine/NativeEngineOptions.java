// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.LoaderMeter;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The options of libtorch's loader. */
public record NativeEngineOptions(
    int batchRows,
    int workers,
    int prefetch,
    boolean inOrder,
    @Nullable Duration timeout,
    long seed,
    LoaderMeter meter) {}
