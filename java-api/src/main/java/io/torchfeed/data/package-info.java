// SPDX-License-Identifier: Apache-2.0
/**
 * Datasets, the loader, and the batches it delivers.
 *
 * <p>A loader turns the order of a {@link io.torchfeed.sampler.Sampler} into batches of tensors.
 * What it delivers is a function of plan, epoch and dataset alone; workers and prefetch change
 * speed, never content. Batches come in order, unless {@link
 * io.torchfeed.data.DataLoaderBuilder#inOrder inOrder(false)} lets those that are ready overtake.
 *
 * <p>Nothing waits without an end: {@link io.torchfeed.data.DataLoaderBuilder#timeout timeout}
 * limits a wait for a batch, closing takes about a second at most, and threads that do not come
 * back by then are left behind with the memory that they use. A batch costs the Java heap less than
 * a kilobyte, whatever its size: index lists and slabs are reused when it ends.
 *
 * <p>Rows in memory or in files are a {@link io.torchfeed.data.TensorDataset}, loaded from {@link
 * io.torchfeed.data.CsvFile} for example, or a {@link io.torchfeed.data.FileDataset}. Samples that
 * Java code makes are a {@link io.torchfeed.data.Dataset}, such as {@link
 * io.torchfeed.data.ImageFolder}. What can only be read from front to back is a {@link
 * io.torchfeed.data.StreamDataset}, such as the {@link io.torchfeed.data.TextLines} of files: its
 * shards are shared out over ranks and workers, and a pass is left and taken up again at any batch,
 * also by another number of ranks:
 *
 * <pre>{@code
 * TextLines lines = TextLines.of(List.of("data"), 8);
 * List<RowSpec> columns = List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.FLOAT32, 2));
 * StreamDataset rows =
 *     StreamDataset.of(lines.shuffled(1000, 42), TextRows.separatedBy(",", columns));
 * try (StreamLoader loader = DataLoader.over(rows).rank(0, 2).batchSize(64).build();
 *     StreamBatches batches = loader.epoch(0)) {
 *   for (Batch batch : batches) {
 *     train(batch.tensor(0), batch.tensor(1));
 *     checkpoint = batches.state().toJson();
 *   }
 * }
 * }</pre>
 *
 * <p>Samples may differ in length: {@link io.torchfeed.data.VariableLength} pads or packs them.
 * {@link io.torchfeed.data.BatchTransform} changes whole batches on the workers.
 *
 * <p>This package knows samplers, memory and, for what is read from text, partition; it must not
 * import {@code io.torchfeed.distributed}.
 */
@NullMarked
package io.torchfeed.data;

import org.jspecify.annotations.NullMarked;
