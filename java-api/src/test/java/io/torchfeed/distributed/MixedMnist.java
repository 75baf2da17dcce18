// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.distributed.DistributedDataParallel.BufferMode;
import io.torchfeed.distributed.DistributedDataParallel.Options;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The net of the MNIST example, which {@link MixedRank} trains as mixed_ranks.py does. */
final class MixedMnist extends Module {
  private static final int EPOCHS = 2;
  private static final int STEPS = 6;
  private static final int BATCH = 4;

  private final Conv2dImpl conv1 = register_module("conv1", new Conv2dImpl(1, 32, kernel()));
  private final Conv2dImpl conv2 = register_module("conv2", new Conv2dImpl(32, 64, kernel()));
  private final LinearImpl fc1 = register_module("fc1", new LinearImpl(9216, 128));
  private final LinearImpl fc2 = register_module("fc2", new LinearImpl(128, 10));

  private static LongPointer kernel() {
    return new LongPointer(3, 3);
  }

  private Tensor forward(Tensor images) {
    Tensor x = torch.relu(conv1.forward(images));
    x = torch.max_pool2d(torch.relu(conv2.forward(x)), 2, 2);
    x = torch.dropout(x, 0.25, true);
    x = torch.relu(fc1.forward(x.flatten(1, -1)));
    return torch.log_softmax(fc2.forward(torch.dropout(x, 0.5, true)), 1);
  }

  void train(ProcessGroup group) {
    Options options = Options.defaults().withBufferMode(BufferMode.OFF); // there are none
    try (DistributedDataParallel model = DistributedDataParallel.wrap(this, group, options)) {
      SGDOptions rates = new SGDOptions(0.03);
      rates.momentum().put(0.9);
      SGD sgd = new SGD(parameters(), rates);
      for (int step = 0; step < EPOCHS * STEPS; step++) {
        try (PointerScope scope = new PointerScope()) {
          int number = step * group.size() + group.rank();
          Tensor images = MixedRank.values(1000L * number, BATCH, 1, 28, 28);
          long[] labels = LongStream.range(number, number + BATCH).map(i -> i % 10).toArray();
          model.backward(torch.nll_loss(forward(images), Tensor.create(labels, BATCH)));
          sgd.step();
          sgd.zero_grad();
        }
      }
    }
  }
}
