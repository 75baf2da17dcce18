// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.LoaderStats;
import java.time.Duration;
import java.util.Optional;

/** The figures behind {@link LoaderStats}, whose methods describe them. */
public record LoaderFigures(
    long batches,
    long rows,
    long bytes,
    Duration elapsed,
    Duration starting,
    Duration waited,
    Duration sampling,
    Duration working,
    Duration transferring,
    int workers,
    int prefetch,
    double ready,
    Optional<LoaderStats.Slowest> slowest,
    boolean javaCode) {}
