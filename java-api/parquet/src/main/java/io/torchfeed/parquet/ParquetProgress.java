// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

/**
 * The progress of storing rows, by this process and others in the same folder.
 *
 * @param groups the row groups that are stored, also by an earlier run
 * @param groupCount the row groups in all files
 * @param rows the rows in the stored groups
 * @param rowCount the rows in all files
 */
public record ParquetProgress(int groups, int groupCount, long rows, long rowCount) {}
