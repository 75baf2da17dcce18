// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * The options of a launch whose ranks come and go.
 *
 * @param budget the number of restarts on this machine within any interval of length {@code per}
 */
record ElasticSettings(
    CoordinatorOptions ranks, int budget, Duration per, Consumer<CoordinatorEvent> events) {}
