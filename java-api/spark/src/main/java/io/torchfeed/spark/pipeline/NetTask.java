// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.spark.ModelBytes;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.RankLoop;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RankTask;
import io.torchfeed.training.EvaluationOptions;
import java.util.Arrays;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The training of a network by Adam. The columns are the inputs, the label and, if there are any,
 * the weight and the indicator of the validation.
 *
 * @param <M> the type of the network
 * @param net the network
 * @param inputs the number of input columns
 * @param epochs passes over the rows
 * @param batchSize the rows of a step on each rank
 * @param rate the learning rate
 * @param seed of the order and the steps
 * @param weight the column of weights; empty for none
 * @param validation the column that is true for rows of the validation; empty for none
 * @param patience evaluations that are no better before the training stops; 0 for no stop
 */
record NetTask<M extends Module>(
    TorchfeedNet<M> net,
    int inputs,
    int epochs,
    int batchSize,
    double rate,
    long seed,
    String weight,
    String validation,
    int patience)
    implements RankTask<byte[]> {
  @Override
  public byte[] train(RankContext context, RankRows rows) {
    try (M module = net.create();
        M best = net.create();
        AdamOptions options = new AdamOptions(rate);
        Adam optimizer = new Adam(module.parameters(), options);
        DistributedDataParallel model =
            DistributedDataParallel.wrap(
                module,
                context.group(),
                DataParallelOptions.defaults().withWeightedLosses(!weight.isEmpty()));
        RowParts parts = RowParts.of(rows, weight, validation, context.group());
        DataLoader loader =
            DataLoader.over(parts.training())
                .batchSize(batchSize)
                .sampler(ShuffledSampler.of(parts.training().size(), seed))
                .build()) {
      RankLoop loop = RankLoop.of(context, model, loader).withEpochs(epochs).withSeed(seed);
      Validation<M> validated = new Validation<>(this, context, module, best, parts);
      if (validation.isEmpty()) {
        loop =
            loop.withState(
                all -> all.module("model", module).optimizer("optimizer", optimizer, module));
      } else {
        EvaluationOptions early = EvaluationOptions.ofLoss();
        loop =
            loop.withState(
                    all ->
                        all.module("model", module)
                            .optimizer("optimizer", optimizer, module)
                            .module("best", best)
                            .text(
                                "best-loss",
                                () -> Double.toString(validated.lowest),
                                saved -> validated.lowest = Double.parseDouble(saved)))
                .withEvaluation(
                    (trained, step) -> validated.loss(step.epoch()),
                    patience == 0 ? early : early.withPatience(patience));
      }
      if (!weight.isEmpty()) {
        loop = loop.withWeight(this::weightOf);
      }
      loop.run(optimizer, batch -> loss(module, batch));
      return ModelBytes.of(validation.isEmpty() ? module : best);
    }
  }

  /** Returns the mean loss of the rows of a batch, by their weights if they have any. */
  private Tensor loss(M module, Batch batch) {
    Tensor output = net.forward(module, inputs(batch));
    if (weight.isEmpty()) {
      return net.loss(output, batch.tensor(inputs));
    }
    double all = weightOf(batch);
    Tensor sum = weighted(output, batch).sum();
    return all > 0 ? sum.div(new Scalar(all)) : sum;
  }

  private double weightOf(Batch batch) {
    try (PointerScope scope = new PointerScope()) {
      return batch.tensor(weight).sum(new ScalarTypeOptional(ScalarType.Double)).item_double();
    }
  }

  /** Returns the weighted losses of the rows of a batch. */
  private Tensor weighted(Tensor output, Batch batch) {
    if (!(net instanceof TorchfeedNet.OfRows<M> ofRows)) {
      throw new IllegalStateException("weights without the loss of each row");
    }
    Tensor losses = ofRows.losses(output, batch.tensor(inputs));
    long[] shape = losses.sizes().vec().get();
    if (!Arrays.equals(shape, new long[] {batch.size()})) {
      throw new IllegalArgumentException(
          "losses must return one loss for each row, of shape [%d], got %s"
              .formatted(batch.size(), Arrays.toString(shape)));
    }
    return losses.mul(batch.tensor(weight));
  }

  private Tensor[] inputs(Batch batch) {
    Tensor[] tensors = new Tensor[inputs];
    for (int i = 0; i < inputs; i++) {
      tensors[i] = batch.tensor(i);
    }
    return tensors;
  }

  /** The validation of a rank. */
  private static final class Validation<M extends Module> {
    private final NetTask<M> task;
    private final RankContext context;
    private final M module;
    private final M best;
    private final RowParts parts;
    private double lowest = Double.POSITIVE_INFINITY;

    Validation(NetTask<M> task, RankContext context, M module, M best, RowParts parts) {
      this.task = task;
      this.context = context;
      this.module = module;
      this.best = best;
      this.parts = parts;
    }

    /** Returns the weighted mean over the rows of all ranks, and keeps the best parameters. */
    @SuppressWarnings("try") // a guard works by being open
    double loss(long epoch) {
      double sum = 0;
      double count = 0;
      module.eval();
      try (NoGradGuard guard = new NoGradGuard();
          DataLoader loader =
              DataLoader.over(parts.validation()).batchSize(task.batchSize).build();
          Batches batches = loader.epoch(0)) {
        for (Batch batch : batches) {
          try (PointerScope scope = new PointerScope()) {
            Tensor output = task.net.forward(module, task.inputs(batch));
            if (task.weight.isEmpty()) {
              sum += task.net.loss(output, batch.tensor(task.inputs)).item_double() * batch.size();
              count += batch.size();
            } else {
              sum += task.weighted(output, batch).sum().item_double();
              count += task.weightOf(batch);
            }
          }
        }
      } finally {
        module.train(true);
      }
      double mean = RowParts.meanOf(context.group(), sum, count);
      if (mean < lowest || epoch == 0) {
        lowest = mean;
        ModelBytes.load(ModelBytes.of(module), best);
      }
      context.report(epoch, Map.of("validationLoss", mean));
      return mean;
    }
  }
}
