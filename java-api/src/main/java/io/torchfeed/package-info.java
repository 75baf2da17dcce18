// SPDX-License-Identifier: Apache-2.0
/**
 * torchfeed on one page.
 *
 * <p>Priorities, in order: nothing a user does crashes, hangs or leaks the JVM; the same plan gives
 * the same samples everywhere; speed.
 *
 * <p>The flow has one direction: {@link io.torchfeed.sampler.Sampler} (which samples, in what
 * order) → {@link io.torchfeed.data.DataLoader} (rows, in batches) → {@link
 * io.torchfeed.memory.DeviceTransfer} (if a device is asked for) → training step, with {@code
 * io.torchfeed.distributed} around it. A sampler knows nothing of rows, a loader nothing of ranks.
 * Data without random access has a {@link io.torchfeed.data.StreamLoader} instead of the first two.
 * {@code io.torchfeed.partition} stands beside it: text files, divided over ranks, as graphs.
 *
 * <ul>
 *   <li><b>Hot path</b>: one batch costs a fixed number of calls into native code, whatever its
 *       size, and native code never calls Java. Java code runs per sample only where the dataset is
 *       Java code ({@link io.torchfeed.data.Dataset}): on threads of the JVM, straight into the
 *       batch's memory ({@link io.torchfeed.memory.Slab}).
 *   <li><b>Threads</b>: plans, datasets and loaders are thread-safe; a cursor, a pass or a batch
 *       serves one thread at a time. {@code close} may come at any moment from any thread; but not
 *       that of a {@code DistributedDataParallel} during another thread's {@code loss.backward()},
 *       which libtorch runs without asking it.
 *   <li><b>Ownership</b>: whoever opens closes. Objects hold what they need of their parents, so
 *       the order of closing does not matter. Native memory is freed by the last user.
 *   <li><b>To see it work</b>: {@link io.torchfeed.data.DataLoader#stats} names what holds an epoch
 *       up; flight recordings have an event for each wait, gather, sample and transfer.
 *   <li><b>Errors</b>: {@link IllegalArgumentException} for a wrong value, when it is given; {@link
 *       IllegalStateException} for a wrong moment, use after close among them; otherwise a typed
 *       exception of the package. Messages name the rule, the value and the cure.
 * </ul>
 */
@NullMarked
package io.torchfeed;

import org.jspecify.annotations.NullMarked;
