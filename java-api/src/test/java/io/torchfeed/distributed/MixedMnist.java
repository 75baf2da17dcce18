// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DataParallelOptions.BufferMode;
import io.torchfeed.distributed.training.PythonDataParallel;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The net of the MNIST example, which {@link MixedRank} trains on MNIST as mixed_ranks.py does. */
final class MixedMnist extends Module {
  private static final int EPOCHS = 2;
  private static final int BATCH = 64;

  /** The digits of both sets that are used: with all of them, the test would take minutes. */
  private static final int TRAINING = 12_800;

  private static final int TEST = 2_000;

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
    x = torch.dropout(x, 0.25, is_training());
    x = torch.relu(fc1.forward(x.flatten(1, -1)));
    return torch.log_softmax(fc2.forward(torch.dropout(x, 0.5, is_training())), 1);
  }

  /** Returns the folder of MNIST's files, or skips the test if they have not been downloaded. */
  static Path data() {
    Path cache =
        Optional.ofNullable(System.getenv("XDG_CACHE_HOME"))
            .map(Path::of)
            .filter(Path::isAbsolute)
            .orElse(Path.of(System.getProperty("user.home"), ".cache"));
    Path data = cache.resolve(Path.of("torchfeed", "mnist"));
    assumeTrue(
        Files.isDirectory(data),
        () -> data + " is missing; run examples/mnist-ddp/train once, which downloads MNIST");
    return data;
  }

  private static FileDataset digits(String part) {
    return FileDataset.of(
        FileColumn.idx(data().resolve(part + "-images-idx3-ubyte")),
        FileColumn.idx(data().resolve(part + "-labels-idx1-ubyte")));
  }

  private static Tensor images(Batch batch) {
    return batch.tensor(0).to(ScalarType.Float).div(new Scalar(255)).unsqueeze(1);
  }

  private static Tensor labels(Batch batch) {
    return batch.tensor(1).to(ScalarType.Long);
  }

  void train(PythonProcessGroup group) {
    DataParallelOptions options =
        DataParallelOptions.defaults().withBufferMode(BufferMode.OFF); // there are none
    try (FileDataset data = digits("train");
        DataLoader loader =
            DataLoader.over(data)
                .sampler(PythonDistributedSampler.of(TRAINING, group.part()))
                .batchSize(BATCH)
                .build();
        PythonDataParallel model = PythonDataParallel.wrap(this, group, options)) {
      SGDOptions rates = new SGDOptions(0.03);
      rates.momentum().put(0.9);
      SGD sgd = new SGD(parameters(), rates);
      for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (Batch batch : loader.epoch(epoch)) {
          try (PointerScope scope = new PointerScope()) {
            model.backward(torch.nll_loss(forward(images(batch)), labels(batch)));
            sgd.step();
            sgd.zero_grad();
          }
        }
      }
    }
  }

  /** Returns the share of test digits that are classified correctly, in [0, 1]. */
  @SuppressWarnings("try") // guard is not referenced
  double accuracy() {
    eval();
    try (NoGradGuard guard = new NoGradGuard();
        FileDataset data = digits("t10k");
        DataLoader loader =
            DataLoader.over(data).sampler(SequentialSampler.of(TEST)).batchSize(TEST).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      Tensor guesses = forward(images(batch)).argmax(new LongOptional(1), false);
      return guesses.eq(labels(batch)).sum().item_long() / (double) TEST;
    }
  }
}
