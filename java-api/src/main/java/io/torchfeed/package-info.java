// SPDX-License-Identifier: Apache-2.0
/**
 * An overview of torchfeed.
 *
 * <p>Priorities, in order: no use of the API crashes the JVM, hangs or leaks; the same plan yields
 * the same samples everywhere; speed.
 *
 * <p>Data flows in one direction: {@link io.torchfeed.sampler.Sampler} (the samples and their
 * order) → {@link io.torchfeed.data.loader.DataLoader} (rows, in batches) → {@link
 * io.torchfeed.memory.DeviceTransfer} (if a device is requested) → training step, with {@code
 * io.torchfeed.distributed} around it. A sampler knows nothing about rows. A loader divides streams
 * among ranks, and leaves the order of indexed data to its sampler. Data without random access is a
 * {@link io.torchfeed.data.StreamDataset} and needs no sampler.
 *
 * <p>Ready datasets are in {@code io.torchfeed.data.source}, and in {@code io.torchfeed.data.token}
 * for token ids; {@code io.torchfeed.image} makes rows of encoded images, and {@code
 * io.torchfeed.storage} is where other storage than files is plugged in. {@code io.torchfeed.text}
 * and {@code io.torchfeed.graph} are separate from this flow: they read text files, divided among
 * ranks, as lines and as graphs.
 *
 * <p>{@link io.torchfeed.compiled.CompiledModel} stands alone, too: it runs a trained model that
 * Python has compiled.
 *
 * <p>Around the training step, {@code io.torchfeed.amp} adds mixed precision, {@code
 * io.torchfeed.checkpoint} saves and loads the state of a training, {@code
 * io.torchfeed.distributed.launch} starts ranks, and {@code io.torchfeed.elastic} continues when
 * they are lost or join. {@link io.torchfeed.training.TrainingLoop} is one loop with all of it.
 *
 * <ul>
 *   <li><b>Hot path</b>: each batch costs a fixed number of calls into native code, whatever its
 *       size, and native code never calls Java. Java code runs per sample only if the dataset is
 *       Java code ({@link io.torchfeed.data.Dataset}): it runs on JVM threads and writes directly
 *       into the batch's memory ({@link io.torchfeed.memory.Slab}).
 *   <li><b>Threads</b>: plans, datasets and loaders are thread-safe; a cursor, a pass or a batch
 *       may be used by one thread at a time. {@code close} may be called at any time from any
 *       thread, with one exception: a {@code DistributedDataParallel} must not be closed during
 *       another thread's {@code loss.backward()}, which libtorch runs without consulting it.
 *   <li><b>Ownership</b>: the caller that opens an object closes it. Objects keep the needed parts
 *       of their parents alive, so the order of closing does not matter. Native memory is freed by
 *       its last user.
 *   <li><b>Observability</b>: {@link io.torchfeed.data.loader.DataLoader#stats} identifies the
 *       bottleneck of an epoch; JDK Flight Recorder receives an event for each wait, gather,
 *       sample, transfer and collective operation.
 *   <li><b>Errors</b>: {@link IllegalArgumentException} for an invalid value, as soon as it is
 *       passed; {@link IllegalStateException} for a call in the wrong state, including use after
 *       close; otherwise a typed exception of the package. Messages name the rule, the value and
 *       the remedy.
 * </ul>
 */
@NullMarked
package io.torchfeed;

import org.jspecify.annotations.NullMarked;
