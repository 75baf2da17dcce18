// SPDX-License-Identifier: Apache-2.0
/**
 * Groups of processes: joining, collective operations, and small values that the ranks share.
 *
 * <p>{@link io.torchfeed.distributed.ProcessGroup} is joined by environment variables or by
 * arguments. It has the operations of {@link io.torchfeed.distributed.Collectives}; {@link
 * io.torchfeed.distributed.AsyncCollectives} has the same ones without waiting. Ranks of Python and
 * of Java work in one job in a {@link io.torchfeed.distributed.PythonProcessGroup}. Models are
 * trained by {@link io.torchfeed.distributed.training}; {@link io.torchfeed.distributed.launch}
 * starts the ranks of one machine.
 *
 * <p>Collectives use Gloo, and NCCL between the GPUs of a group that is joined {@linkplain
 * io.torchfeed.distributed.GroupOptions#withDevice with devices}. If a peer dies or does not
 * respond, the other ranks throw {@link io.torchfeed.distributed.PeerLostException} and never hang
 * beyond the group's timeout. Must not import {@code io.torchfeed.data}, and of {@code
 * io.torchfeed.sampler} only {@link io.torchfeed.sampler.Part}.
 */
@NullMarked
package io.torchfeed.distributed;

import org.jspecify.annotations.NullMarked;
