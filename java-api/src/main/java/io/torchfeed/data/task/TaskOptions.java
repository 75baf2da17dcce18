// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.WorkerHooks;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The options for the content of the batches that tasks fill, and for all workers of a loader.
 *
 * @param workerNumbers the number of the next worker
 */
public record TaskOptions(
    BatchLayout layout,
    FailurePolicy onFailure,
    long seed,
    LoaderMeter meter,
    WorkerHooks hooks,
    AtomicInteger workerNumbers) {}
