// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.nll_loss;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.examples.common.mnist.MnistData;
import io.torchfeed.examples.mnist.Net;
import io.torchfeed.metric.Accuracy;
import io.torchfeed.metric.Evaluation;
import io.torchfeed.metric.MetricCollection;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.openblas.presets.openblas_nolapack;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The convnet and its optimizer as one state that ranks can copy from each other, and its data as a
 * function of the rank's part. Not thread-safe; {@code close} frees both, once.
 */
final class ElasticModel implements AutoCloseable {
  private static final int WARM_UP_STEPS = 3;
  private static final int TEST_BATCH = 500;

  /**
   * All that the batches and the first parameters depend on, except for the ranks.
   *
   * @param samples the first samples of the training half of MNIST that are used, in [1, 60000]
   * @param globalBatch samples per step of all ranks together; divisible by the number of ranks
   * @param seed fixes the first parameters and the order of the samples
   */
  record Plan(int samples, int globalBatch, long seed) {
    /** Checks the ranges. */
    Plan {
      if (samples < 1 || globalBatch < 1) {
        throw new IllegalArgumentException(
            "samples and globalBatch must be at least 1, got %d and %d"
                .formatted(samples, globalBatch));
      }
    }

    /**
     * Opens the loader of a rank.
     *
     * @param data of {@link ElasticModel#data}; borrowed
     * @param part the rank and the number of ranks
     * @return the loader, which the caller closes
     */
    DataLoader loader(NativeDataset data, Part part) {
      return DataLoader.over(data)
          .sampler(ShuffledSampler.of(samples, part, seed))
          .batchSize(globalBatch / part.worldSize())
          .build();
    }
  }

  private final NormalizedNet net;
  private final SGD optimizer;

  private ElasticModel(NormalizedNet net, SGD optimizer) {
    this.net = net;
    this.optimizer = optimizer;
  }

  /** The net behind a batch normalization, whose buffers each forward pass changes. */
  private static final class NormalizedNet extends Module {
    private final BatchNorm2dImpl norm =
        register_module("norm", new BatchNorm2dImpl(new BatchNormOptions(1)));
    private final Net net = register_module("net", new Net());

    Tensor forward(Tensor images) {
      return net.forward(norm.forward(images));
    }
  }

  /**
   * Creates a net and its optimizer, SGD with momentum 0.9.
   *
   * @param seed fixes the parameters
   * @param learningRate above 0
   * @return the model
   */
  static ElasticModel of(long seed, double learningRate) {
    manual_seed(seed);
    NormalizedNet net = new NormalizedNet();
    return new ElasticModel(net, optimizer(net, learningRate));
  }

  private static SGD optimizer(Module net, double learningRate) {
    try (TensorVector parameters = net.parameters();
        SGDOptions options = new SGDOptions(learningRate)) {
      options.momentum().put(0.9);
      return new SGD(parameters, options);
    }
  }

  /**
   * Makes libtorch compute with one thread: sums depend, in their last bits, on the number of
   * threads. Called in each thread that computes.
   */
  static void useOneThread() {
    useThreads(1);
  }

  /**
   * Makes libtorch compute with a number of threads. Called in each thread that computes.
   *
   * @param threads at least 1
   */
  static void useThreads(int threads) {
    torch.set_num_threads(threads);
    openblas_nolapack.blas_set_num_threads(threads);
  }

  /**
   * Opens the training data.
   *
   * @param folder has MNIST's four files
   * @param samples the number of the first samples to use
   * @return normalized images, float32 [samples, 1, 28, 28], and labels, int64 [samples]; the
   *     caller closes it
   */
  static NativeDataset data(Path folder, int samples) {
    try (NativeDataset all = MnistData.train(folder)) {
      return all.subset(LongStream.range(0, samples).toArray());
    }
  }

  /**
   * Runs a few steps on a copy that is thrown away, so that the first step in a group does not let
   * the other ranks wait for classes to be loaded. Changes the state of libtorch's generator.
   *
   * @param rows samples per step
   */
  @SuppressWarnings("try") // a scope works by being open
  static void warmUp(int rows) {
    long[] labelShape = {rows};
    try (ElasticModel copy = of(0, 0.01);
        Tensor images = randn(rows, 1, MnistData.SIDE, MnistData.SIDE);
        Tensor labels = randint(0, 10, labelShape, new TensorOptions(ScalarType.Long))) {
      for (int i = 0; i < WARM_UP_STEPS; i++) {
        try (PointerScope scope = new PointerScope()) {
          copy.zeroGrad();
          nll_loss(copy.net.forward(images), labels).backward();
          copy.update();
        }
      }
      copy.digest();
    }
  }

  /**
   * Returns the module, to be wrapped for a group.
   *
   * @return borrowed
   */
  Module module() {
    return net;
  }

  /**
   * Adds the parts that a step changes.
   *
   * @param state receives the parts {@code model} and {@code optimizer}
   */
  void addTo(TrainingState.Builder state) {
    state.module("model", net).optimizer("optimizer", optimizer, net);
  }

  /**
   * Returns the state without the position in the data.
   *
   * @return of the parts that {@link #addTo} adds
   */
  TrainingState state() {
    TrainingState.Builder state = TrainingState.builder();
    addTo(state);
    return state.build();
  }

  /** Clears the gradients. */
  void zeroGrad() {
    optimizer.zero_grad();
  }

  /**
   * Computes the loss of a batch, with dropout that is drawn from libtorch's generator.
   *
   * @param batch of {@link Plan#loader}
   * @return the mean loss, a scalar; the caller's scope owns it
   */
  Tensor loss(Batch batch) {
    return nll_loss(net.forward(batch.tensor(0)), batch.tensor(1));
  }

  /** Changes the parameters by their gradients. */
  void update() {
    optimizer.step();
  }

  /**
   * Returns a checksum of parameters, buffers, and the optimizer's tensors and options.
   *
   * @return equal if all bits are
   */
  long digest() {
    try (StateDict all = state().stateDict()) {
      return all.checksum();
    }
  }

  /**
   * Returns the share of MNIST's test half that the net classifies right.
   *
   * @param folder has MNIST's four files
   * @return in [0, 1]
   */
  double accuracy(Path folder) {
    Accuracy accuracy = Accuracy.create();
    try (NativeDataset test = MnistData.test(folder)) {
      Evaluation.of(net, MetricCollection.of(Map.of("accuracy", accuracy)))
          .run(
              DataLoader.over(test).batchSize(TEST_BATCH),
              batch -> accuracy.update(net.forward(batch.tensor(0)), batch.tensor(1)));
    }
    return accuracy.compute();
  }

  @Override
  public void close() {
    optimizer.close();
    net.close();
  }
}
