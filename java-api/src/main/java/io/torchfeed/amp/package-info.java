// SPDX-License-Identifier: Apache-2.0
/**
 * Training in mixed precision, on one process or many: {@link io.torchfeed.amp.Autocast} computes
 * tolerant operations in 16 bits, and {@link io.torchfeed.amp.GradScaler} keeps small gradients of
 * float16 from becoming zero. The classes follow Python's {@code torch.amp}. They work with any
 * module and optimizer of the presets, and other optimizers by {@link
 * io.torchfeed.amp.TrainingOptimizer}; the package knows nothing of process groups.
 *
 * <pre>{@code
 * GradScaler scaler = GradScaler.create();
 * for (Batch batch : batches) {
 *   optimizer.zero_grad();
 *   Tensor loss;
 *   try (Autocast scope = Autocast.on("cuda:0", DType.FLOAT16)) {
 *     loss = nll_loss(net.forward(batch.tensor(0)), batch.tensor(1));
 *   }
 *   model.backward(scaler.scale(loss)); // outside of the scope, as in Python
 *   scaler.step(optimizer);
 *   scaler.update();
 * }
 * }</pre>
 *
 * <p>With bfloat16, which has the range of float32, no scaler is needed. On several ranks, a {@code
 * DistributedDataParallel} averages the scaled gradients, so that an overflow of one rank reaches
 * all of them: all skip the same steps and keep the same scale.
 */
@NullMarked
package io.torchfeed.amp;

import org.jspecify.annotations.NullMarked;
