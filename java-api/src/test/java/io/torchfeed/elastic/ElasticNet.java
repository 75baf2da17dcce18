// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.bytedeco.pytorch.global.torch.cross_entropy;
import static org.bytedeco.pytorch.global.torch.relu;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A net with buffers, its optimizer and its data, the same on all ranks but for the first values.
 */
final class ElasticNet extends Module {
  static final int SAMPLES = 120;
  static final int GLOBAL_BATCH = 12;

  private final LinearImpl first;
  private final BatchNorm1dImpl norm;
  private final LinearImpl last;
  private final Adam optimizer;
  private Device device = new Device("cpu");

  ElasticNet(int seed) {
    first = register_module("first", new LinearImpl(4, 8));
    norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(8)));
    last = register_module("last", new LinearImpl(8, 3));
    for (LinearImpl layer : new LinearImpl[] {first, last}) {
      Tensor weight = layer.weight().detach();
      weight.copy_(sines(weight.numel(), seed).view_as(weight));
      layer.bias().detach().zero_();
    }
    optimizer = new Adam(parameters(), new AdamOptions(0.01));
  }

  /** Moves the parameters, before the first step, and then each batch. */
  ElasticNet on(String name) {
    device = new Device(name);
    to(device, false);
    return this;
  }

  private static Tensor sines(long count, int seed) {
    return torch.sin(torch.arange(new Scalar(count)).mul(new Scalar(7.3 + seed)));
  }

  static TensorDataset data() {
    Tensor inputs = sines(4 * SAMPLES, 0).view(SAMPLES, 4).to(torch.ScalarType.Float);
    Tensor labels = torch.arange(new Scalar(SAMPLES)).remainder(new Scalar(3));
    return TensorDataset.of(inputs, labels.to(torch.ScalarType.Long));
  }

  static DataLoader loader(TensorDataset data, Part part) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(SAMPLES, part, 42))
        .batchSize(GLOBAL_BATCH / part.worldSize())
        .build();
  }

  void addTo(TrainingState.Builder state) {
    state.module("model", this).optimizer("optimizer", optimizer, this);
  }

  void backward(DistributedDataParallel model, Batch batch) {
    optimizer.zero_grad();
    model.backward(loss(batch));
  }

  Tensor loss(Batch batch) {
    Tensor inputs = batch.tensor(0).to(device, torch.ScalarType.Float);
    Tensor hidden = relu(norm.forward(first.forward(inputs)));
    return cross_entropy(last.forward(hidden), batch.tensor(1).to(device, torch.ScalarType.Long));
  }

  void update() {
    optimizer.step();
  }

  TrainingState state() {
    TrainingState.Builder state = TrainingState.builder();
    addTo(state);
    return state.build();
  }

  /** Returns the sum of the magnitudes of all parameters. */
  double magnitude() {
    double sum = 0;
    for (LinearImpl layer : new LinearImpl[] {first, last}) {
      sum += layer.weight().abs().sum().item_double() + layer.bias().abs().sum().item_double();
    }
    return sum;
  }

  /** Returns a digest of parameters, buffers and optimizer. */
  String digest() {
    CRC32C sum = new CRC32C();
    try (StateDict all = state().stateDict()) {
      for (Map.Entry<String, Tensor> entry : all.tensors().entrySet()) {
        sum.update(entry.getKey().getBytes(StandardCharsets.UTF_8));
        byte[] bytes = new byte[(int) entry.getValue().nbytes()];
        try (Tensor values = entry.getValue().cpu();
            BytePointer memory = new BytePointer(values.data_ptr())) {
          memory.get(bytes);
        }
        sum.update(bytes);
      }
    }
    return Long.toHexString(sum.getValue());
  }
}
