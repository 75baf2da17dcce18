// SPDX-License-Identifier: Apache-2.0
/**
 * Columns of tables as tensors: numbers, categories and dates of a CSV file or of any rows.
 *
 * <p>{@link io.torchfeed.table.TableColumns} describes the tensors, {@link
 * io.torchfeed.table.TableRows} holds rows that were read, and {@link
 * io.torchfeed.table.FittedColumns} has the means, deviations and vocabularies of the training
 * rows. It makes tensors of these rows and of any later ones, has a form in JSON, and is a part of
 * a {@code TrainingState}.
 *
 * <p>This package reads no files: {@code data.source.CsvFile} does.
 */
@NullMarked
package io.torchfeed.table;

import org.jspecify.annotations.NullMarked;
