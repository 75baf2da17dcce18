// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * The quality of a net on test images.
 *
 * @param correct the number of images whose largest logit is their class
 * @param images the number of images
 */
record Evaluation(long correct, long images) {
  double accuracy() {
    return correct / (double) images;
  }

  /** Evaluates a net in training, and leaves it in training. */
  static Evaluation of(ResNet net, NativeDataset images, ProcessGroup group, Loading loading) {
    net.eval();
    try {
      return of(net::forward, images, group, loading);
    } finally {
      net.train(true);
    }
  }

  /** Evaluates each image on one rank by its logits, and adds the counts. */
  @SuppressWarnings("try") // a scope works by being open
  static Evaluation of(
      UnaryOperator<Tensor> logits, NativeDataset images, ProcessGroup group, Loading loading) {
    StridedSampler sampler =
        StridedSampler.of(SequentialSampler.of(images.size()), group.part()).withTail(Tail.UNEVEN);
    long[] counts = new long[2];
    try (NoGradGuard guard = new NoGradGuard();
        DataLoader loader =
            DataLoader.over(images)
                .sampler(sampler)
                .batchSize(loading.batchSize())
                .workers(loading.workers())
                .build();
        Batches batches = loader.epoch(0)) {
      while (batches.hasNext()) {
        Batch batch = batches.next();
        try (PointerScope scope = new PointerScope()) {
          Tensor guess = logits.apply(batch.tensor("image")).argmax(new LongOptional(1), false);
          counts[0] += guess.eq(batch.tensor("label")).sum().item_long();
          counts[1] += batch.size();
        }
      }
    }
    try (Tensor sums = Tensor.create(counts)) {
      group.allReduce(sums, ReduceOp.SUM);
      sums.data_ptr_long().get(counts);
    }
    return new Evaluation(counts[0], counts[1]);
  }
}
