// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.examples.mnist.Net;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.spark.ModelBytes;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.RankLoop;
import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RankTask;
import io.torchfeed.spark.RowColumn;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The work of a rank: trains the net of {@code examples/mnist-ddp} on its images.
 *
 * @param epochs passes over the images
 * @param batchSize images of a step on this rank
 * @param rate the learning rate of SGD
 * @param momentum the momentum of SGD
 * @param seed of parameters, order and dropout
 */
record MnistTask(int epochs, int batchSize, double rate, double momentum, long seed)
    implements RankTask<byte[]> {
  private static final RowColumn IMAGE =
      RowColumn.of(MnistRows.IMAGE, DType.UINT8, 1, MnistRows.SIDE, MnistRows.SIDE);
  private static final RowColumn LABEL = RowColumn.of(MnistRows.LABEL, DType.INT64);
  private static final double MEAN = 0.1307;
  private static final double DEVIATION = 0.3081;

  static RowColumn[] columns() {
    return new RowColumn[] {IMAGE, LABEL};
  }

  @Override
  public byte[] train(RankContext context, RankRows rows) {
    torch.manual_seed(seed);
    try (Net net = new Net();
        SGDOptions options = new SGDOptions(rate);
        SGD optimizer = optimizer(net, options);
        DistributedDataParallel model = DistributedDataParallel.wrap(net, context.group());
        DataLoader loader =
            rows.loader()
                .batchSize(batchSize)
                .sampler(ShuffledSampler.of(rows.size(), seed))
                .build()) {
      RankLoop.of(context, model, loader)
          .withEpochs(epochs)
          .withSeed(seed)
          .withState(state -> state.module("model", net).optimizer("optimizer", optimizer, net))
          .run(
              optimizer,
              batch ->
                  nll_loss(
                      net.forward(normalized(batch.tensor(MnistRows.IMAGE))),
                      batch.tensor(MnistRows.LABEL)));
      return ModelBytes.of(net);
    }
  }

  private SGD optimizer(Net net, SGDOptions options) {
    options.momentum().put(momentum);
    return new SGD(net.parameters(), options);
  }

  /** Returns float32 [B, 1, 28, 28] of the bytes of images. */
  private static Tensor normalized(Tensor bytes) {
    return bytes
        .to(ScalarType.Float)
        .mul_(new Scalar(1 / (255 * DEVIATION)))
        .sub_(new Scalar(MEAN / DEVIATION));
  }

  /** Returns the trained model, which adds the most likely digit of an image. */
  static RankModel model(byte[] trained) {
    return RankModel.of(
        trained, MnistTask::open, RowColumn.of(MnistRows.DIGIT, DType.INT64), IMAGE);
  }

  private static RankModel.Forward open(byte[] trained) {
    Net net = new Net();
    ModelBytes.load(trained, net);
    net.eval();
    return new RankModel.Forward() {
      @Override
      public Tensor of(Tensor[] columns) {
        return net.forward(normalized(columns[0])).argmax(new LongOptional(1), false);
      }

      @Override
      public void close() {
        net.close();
      }
    };
  }
}
