// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import io.torchfeed.spark.RowOrder;
import io.torchfeed.spark.link.DriverAddress;
import io.torchfeed.spark.rows.RowEncoder;
import java.io.Serializable;
import java.time.Duration;
import org.apache.spark.util.SerializableConfiguration;
import org.jspecify.annotations.Nullable;

/**
 * The settings that all ranks of a job get from the driver.
 *
 * @param job the job, as 16 hexadecimal digits
 * @param encoder the columns
 * @param order the order of the rows
 * @param timeout of the group
 * @param driver where the driver is
 * @param checkpoints the path of the checkpoints; null for none
 * @param kept how many of the newest checkpoints to keep
 * @param keptBest how many of the best checkpoints to keep
 * @param hadoop the driver's configuration of file systems
 */
public record JobSettings(
    String job,
    RowEncoder encoder,
    RowOrder order,
    Duration timeout,
    DriverAddress driver,
    @Nullable String checkpoints,
    int kept,
    int keptBest,
    SerializableConfiguration hadoop)
    implements Serializable {}
