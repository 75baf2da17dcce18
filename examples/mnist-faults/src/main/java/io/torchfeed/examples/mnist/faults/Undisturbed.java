// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import org.bytedeco.javacpp.PointerScope;

/**
 * The same training by one process, which nothing disturbs and no other one helps: as many epochs
 * and samples per step, from the same first parameters. Its dropout differs, and so do its bits.
 */
final class Undisturbed {
  /** A training with faults may be less accurate by this at most. */
  static final double TOLERANCE = 0.002;

  private Undisturbed() {}

  /** Trains; returns the accuracy on the test set, in [0, 1]. */
  @SuppressWarnings("try") // a scope works by being open
  static double accuracy(RankArguments.Training training) {
    ElasticModel.useThreads(Runtime.getRuntime().availableProcessors());
    ElasticModel.Plan plan = training.plan();
    try (NativeDataset data = ElasticModel.data(training.data(), plan.samples());
        ElasticModel model = ElasticModel.of(plan.seed(), training.learningRate());
        DataLoader loader = plan.loader(data, Part.whole())) {
      for (long epoch = 0; epoch < training.epochs(); epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            try (PointerScope scope = new PointerScope()) {
              model.zeroGrad();
              model.loss(batch).backward();
              model.update();
            }
          }
        }
      }
      return model.accuracy(training.data());
    }
  }
}
