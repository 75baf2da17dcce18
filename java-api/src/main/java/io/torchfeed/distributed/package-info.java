// SPDX-License-Identifier: Apache-2.0
/**
 * Training in several processes: the process group, gradient reduction, and a launcher for one
 * machine.
 *
 * <p>{@link io.torchfeed.distributed.ProcessGroup} is joined by environment variables or by
 * arguments. Its operations are those of {@link io.torchfeed.distributed.Collectives}; {@link
 * io.torchfeed.distributed.AsyncCollectives} has the same ones without waiting. Ranks of Python and
 * of Java train in one job in a group that is joined by {@link
 * io.torchfeed.distributed.ProcessGroup#joinPython(java.time.Duration)}.
 *
 * <p>Collectives use Gloo, and NCCL between the GPUs of a group that {@linkplain
 * io.torchfeed.distributed.ProcessGroup#useDevice uses devices}; gradients are reduced by
 * libtorch's own reducer, in the buckets and with the results of Python's {@code
 * DistributedDataParallel} (golden/python_ddp), or are sent in fewer bytes by a {@link
 * io.torchfeed.distributed.GradientExchange}. {@link io.torchfeed.distributed.Join} is for ranks
 * whose numbers of batches differ, {@link io.torchfeed.distributed.ModelAveraging} for exchanging
 * weights instead. If a peer dies or does not respond, the other ranks throw {@link
 * io.torchfeed.distributed.PeerLostException} and never hang beyond the group's timeout. Must not
 * import {@code io.torchfeed.data}, and of {@code io.torchfeed.sampler} only {@link
 * io.torchfeed.sampler.Part}.
 */
@NullMarked
package io.torchfeed.distributed;

import org.jspecify.annotations.NullMarked;
