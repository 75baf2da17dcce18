// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.amp.GradScaler;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.Uneven;
import io.torchfeed.distributed.training.UnevenInputs;
import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.training.TrainingLoopContract.Program;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** The statements of a training loop, one after the other. */
record LoopByHand(Program program, int ranks) {
  /** Trains all epochs; returns the state of each rank. */
  List<String> train() throws Exception {
    List<String> digests = Collections.synchronizedList(new ArrayList<>());
    if (ranks == 1) {
      digests.add(train(Part.whole(), null));
      return digests;
    }
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope();
              LoopNet net = new LoopNet(program.dropped());
              DistributedDataParallel model = DistributedDataParallel.wrap(net, group)) {
            digests.add(train(net, group.part(), model));
          }
        });
    return digests;
  }

  private String train(Part part, @Nullable DistributedDataParallel model) {
    try (PointerScope scope = new PointerScope();
        LoopNet net = new LoopNet(program.dropped())) {
      return train(net, part, model);
    }
  }

  private String train(LoopNet net, Part part, @Nullable DistributedDataParallel model) {
    try (PointerScope scope = new PointerScope();
        GradScaler scaler = GradScaler.create();
        DataLoader loader = program.loader().apply(part)) {
      LearningRate rate = TrainingLoopContract.rate(net);
      AtomicLong step = new AtomicLong();
      for (int epoch = 0; epoch < TrainingLoopContract.EPOCHS; epoch++) {
        long own = steps(loader, epoch);
        try (UnevenInputs inputs = model == null ? null : model.unevenInputs(Uneven.passes(own));
            Batches batches = loader.epoch(epoch)) {
          for (long i = 0; i < own; i++) {
            rate.set(step.get());
            torch.manual_seed(
                Hash64.foldAll(TrainingLoopContract.SEED, step.getAndIncrement(), part.rank()));
            step(net, model, scaler, batches);
          }
          if (inputs != null) {
            inputs.shadow(
                () -> {
                  rate.set(step.getAndIncrement());
                  net.optimizer.step();
                });
          }
        }
      }
      return net.digest();
    }
  }

  private long steps(DataLoader loader, int epoch) {
    long count = 0;
    try (Batches counted = loader.epoch(epoch)) {
      for (; counted.hasNext(); count++) {
        counted.next();
      }
    }
    return (count + program.accumulate() - 1) / program.accumulate();
  }

  private void step(
      LoopNet net, @Nullable DistributedDataParallel model, GradScaler scaler, Batches batches) {
    try (PointerScope scope = new PointerScope()) {
      net.optimizer.zero_grad();
      for (int i = 1; i <= program.accumulate() && batches.hasNext(); i++) {
        Tensor loss = TrainingLoopContract.loss(program, net, scaler, batches.next());
        boolean isLast = i == program.accumulate() || !batches.hasNext();
        if (model == null) {
          loss.backward();
        } else if (isLast) {
          model.backward(loss);
        } else {
          try (var accumulating = model.noSync()) {
            model.backward(loss);
          }
        }
      }
      TrainingLoopContract.update(program, net, scaler);
    }
  }
}
