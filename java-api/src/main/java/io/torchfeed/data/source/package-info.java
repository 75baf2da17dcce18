// SPDX-License-Identifier: Apache-2.0
/**
 * Ready datasets: files of rows ({@link io.torchfeed.data.source.FileDataset}), arrays of numpy
 * ({@link io.torchfeed.data.source.NumpyFile}), CSV ({@link io.torchfeed.data.source.CsvFile}, also
 * for a {@code io.torchfeed.table.TableColumns}), folders of images ({@link
 * io.torchfeed.data.source.ImageFolder}; {@link io.torchfeed.data.source.DecodedFolder} with an
 * {@link io.torchfeed.data.source.ImageDecoder}; {@link io.torchfeed.data.source.ImageList}) and
 * record files of them ({@link io.torchfeed.data.source.ImageRecords}) or tar files of them ({@link
 * io.torchfeed.data.source.ImageTar}), lines of text ({@link io.torchfeed.data.source.TextLines}),
 * graphs as tensors ({@link io.torchfeed.data.source.GraphTensors}), and objects of any type
 * ({@link io.torchfeed.data.source.ObjectDataset}, {@link
 * io.torchfeed.data.source.ObjectStreamDataset}), which a {@link
 * io.torchfeed.data.source.SampleEncoder} writes as samples.
 */
@NullMarked
package io.torchfeed.data.source;

import org.jspecify.annotations.NullMarked;
