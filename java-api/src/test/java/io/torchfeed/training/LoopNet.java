// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.bytedeco.pytorch.global.torch.cross_entropy;
import static org.bytedeco.pytorch.global.torch.dropout;
import static org.bytedeco.pytorch.global.torch.relu;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A net with buffers and its optimizer, the same whenever it is made; its data. */
final class LoopNet extends Module {
  static final int SAMPLES = 60;
  static final int GLOBAL_BATCH = 12;

  final Adam optimizer;
  private final double dropped;
  private final LinearImpl first;
  private final BatchNorm1dImpl norm;
  private final LinearImpl last;

  /**
   * Makes the net.
   *
   * @param dropped the share of hidden values that a step drops; 0 if ranks are threads, which
   *     share libtorch's generator
   */
  LoopNet(double dropped) {
    this.dropped = dropped;
    first = register_module("first", new LinearImpl(4, 8));
    norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(8)));
    last = register_module("last", new LinearImpl(8, 3));
    for (LinearImpl layer : new LinearImpl[] {first, last}) {
      Tensor weight = layer.weight().detach();
      weight.copy_(sines(weight.numel()).view_as(weight));
      layer.bias().detach().zero_();
    }
    optimizer = new Adam(parameters(), new AdamOptions(0.01));
  }

  private static Tensor sines(long count) {
    return torch.sin(torch.arange(new Scalar(count)).mul(new Scalar(7.3)));
  }

  static TensorDataset data() {
    Tensor inputs = sines(4 * SAMPLES).view(SAMPLES, 4).to(torch.ScalarType.Float);
    Tensor labels = torch.arange(new Scalar(SAMPLES)).remainder(new Scalar(3));
    return TensorDataset.of(inputs, labels.to(torch.ScalarType.Long));
  }

  /** Loads the best checkpoint; returns its step. */
  static long loadBest(Checkpoints checkpoints) {
    try (PointerScope scope = new PointerScope();
        LoopNet net = new LoopNet(0)) {
      return checkpoints
          .loadBest(TrainingState.builder().module("model", net).build())
          .orElseThrow()
          .step();
    }
  }

  /** Opens a shuffled epoch in batches of {@link #GLOBAL_BATCH} over all ranks. */
  static DataLoader loader(TensorDataset data, Part part) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(SAMPLES, part, 42))
        .batchSize(GLOBAL_BATCH / part.worldSize())
        .build();
  }

  void addTo(TrainingState.Builder state) {
    state.module("model", this).optimizer("optimizer", optimizer, this);
  }

  Tensor loss(Batch batch) {
    Tensor hidden = dropout(norm.forward(first.forward(batch.tensor(0))), dropped, true);
    return cross_entropy(last.forward(relu(hidden)), batch.tensor(1));
  }

  /** Returns a digest of parameters, buffers and optimizer. */
  String digest() {
    TrainingState.Builder parts = TrainingState.builder();
    addTo(parts);
    CRC32C sum = new CRC32C();
    try (StateDict all = parts.build().stateDict()) {
      for (Map.Entry<String, Tensor> entry : all.tensors().entrySet()) {
        sum.update(entry.getKey().getBytes(StandardCharsets.UTF_8));
        byte[] bytes = new byte[(int) entry.getValue().nbytes()];
        try (BytePointer memory = new BytePointer(entry.getValue().data_ptr())) {
          memory.get(bytes);
        }
        sum.update(bytes);
      }
    }
    return Long.toHexString(sum.getValue());
  }
}
