// SPDX-License-Identifier: Apache-2.0
/**
 * Datasets, and the contracts between them and the loader, which is {@code
 * io.torchfeed.data.loader}.
 *
 * <p>Rows in memory are a {@link io.torchfeed.data.TensorDataset}, loaded from a {@link
 * io.torchfeed.data.source.CsvFile} for example; rows in files are a {@link
 * io.torchfeed.data.source.FileDataset}. Samples produced by Java code are a {@link
 * io.torchfeed.data.Dataset}, such as {@link io.torchfeed.data.source.DecodedFolder}. Data that can
 * only be read sequentially is a {@link io.torchfeed.data.StreamDataset}, such as the {@link
 * io.torchfeed.data.source.TextLines} of files: its shards are divided among ranks and workers, and
 * a pass can be left and resumed at any batch, even by a different number of ranks:
 *
 * <pre>{@code
 * TextLines lines = TextLines.of(List.of("data"), 8);
 * List<RowSpec> columns = List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.FLOAT32, 2));
 * StreamDataset rows =
 *     lines.shuffled(1000, 42).encode(TextRows.separatedBy(",", columns));
 * try (DataLoader loader = DataLoader.over(rows).part(Part.rank(0).of(2)).batchSize(64).build();
 *     Batches batches = loader.epoch(0)) {
 *   for (Batch batch : batches) {
 *     train(batch.tensor(0), batch.tensor(1));
 *     checkpoint = batches.state().toJson();
 *   }
 * }
 * }</pre>
 *
 * <p>Samples may differ in length: {@link io.torchfeed.data.VariableLength} pads or packs them.
 * {@link io.torchfeed.data.NativeDataset#transform} crops, normalizes or casts single rows in
 * native code; {@link io.torchfeed.data.BatchTransform} changes whole batches on the workers, for
 * example {@link io.torchfeed.data.BatchMix}.
 *
 * <p>This package must not import {@code io.torchfeed.distributed}.
 */
@NullMarked
package io.torchfeed.data;

import org.jspecify.annotations.NullMarked;
