// SPDX-License-Identifier: Apache-2.0
/**
 * Training of one model by the ranks of a {@link io.torchfeed.distributed.ProcessGroup}.
 *
 * <p>{@link io.torchfeed.distributed.training.DistributedDataParallel} averages gradients: by
 * libtorch's own reducer, in the buckets and with the results of Python's class of that name
 * (golden/python_ddp), or in fewer bytes by a {@link
 * io.torchfeed.distributed.training.GradientExchange}. {@link
 * io.torchfeed.distributed.training.UnevenInputs} is for ranks whose numbers of batches differ,
 * {@link io.torchfeed.distributed.training.DataParallelOptions#withWeightedLosses} for those whose
 * batches have different numbers of tokens or samples (golden/python_weighted), {@link
 * io.torchfeed.distributed.training.ModelAveraging} for exchanging weights instead.
 *
 * <p>If a peer dies or does not respond, the other ranks throw {@link
 * io.torchfeed.distributed.PeerLostException} and never hang beyond the group's timeout. Must not
 * import {@code io.torchfeed.data}, and of {@code io.torchfeed.sampler} only {@link
 * io.torchfeed.sampler.Part}.
 */
@NullMarked
package io.torchfeed.distributed.training;

import org.jspecify.annotations.NullMarked;
