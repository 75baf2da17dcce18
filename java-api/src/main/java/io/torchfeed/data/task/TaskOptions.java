// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.FailurePolicy;

/** The options for the content of the batches that tasks fill. */
public record TaskOptions(
    BatchLayout layout, FailurePolicy onFailure, long seed, LoaderMeter meter) {}
