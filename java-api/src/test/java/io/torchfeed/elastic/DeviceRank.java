// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.TrainingLoop;
import java.time.Duration;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * A process of {@link DeviceRanksTest}: {@code part device nccl}, where {@code nccl} tells whether
 * all ranks have a GPU of their own.
 */
final class DeviceRank {
  static final int EPOCHS = 3;

  /** The step in which a rank waits to be killed. */
  static final int KILLED_AT = 4;

  /** The exit status of a rank that has noticed the loss of another. */
  static final int NOTICED = 3;

  private final ElasticNet net = new ElasticNet(1);
  private final GroupOptions options;

  private DeviceRank(String device, boolean hasNccl) {
    net.on(device);
    GroupOptions plain = GroupOptions.ofTimeout(Duration.ofSeconds(60));
    options = hasNccl ? plain.withDevice(device) : plain;
  }

  @SuppressWarnings("try") // scope is not referenced
  public static void main(String[] args) throws InterruptedException {
    try (PointerScope scope = new PointerScope()) {
      DeviceRank rank = new DeviceRank(args[1], Boolean.parseBoolean(args[2]));
      switch (args[0]) {
        case "train" -> rank.train();
        case "lose" -> rank.lose();
        case "elastic" -> rank.trainElastically(args[3], args[4]);
        default -> throw new IllegalArgumentException(args[0]);
      }
    }
  }

  /** Several batches of each rank, for up to eight ranks. */
  private static DataLoader loader(TensorDataset data, Part part) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(ElasticNet.SAMPLES, part, 42))
        .batchSize(5)
        .build();
  }

  private void train() {
    try (ProcessGroup group = ProcessGroup.join(options);
        TensorDataset data = ElasticNet.data();
        DataLoader loader = loader(data, group.part());
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group)) {
      for (int epoch = 0; epoch < EPOCHS; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            net.backward(model, batch);
            net.update();
          }
        }
      }
      model.verifyReplicas();
      System.out.println("weights " + net.magnitude());
    }
  }

  /** Trains until another rank is lost, and no tensor can be reduced. */
  private void lose() {
    ProcessGroup group = ProcessGroup.join(options);
    TensorDataset data = ElasticNet.data();
    DataLoader loader = loader(data, group.part());
    DistributedDataParallel model = DistributedDataParallel.wrap(net, group);
    try {
      for (int epoch = 0; ; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            net.backward(model, batch);
            net.update();
          }
        }
        System.out.println("epoch " + epoch);
      }
    } catch (PeerLostException e) {
      System.out.println("lost at " + System.currentTimeMillis() + ": " + e.getMessage());
      model.close();
      group.close();
      System.exit(NOTICED);
    }
  }

  private void trainElastically(String port, String name) throws InterruptedException {
    try (Membership membership =
            Membership.join(
                "127.0.0.1", Integer.parseInt(port), MembershipOptions.defaults().withName(name));
        TensorDataset data = ElasticNet.data()) {
      TrainingLoop.Outcome outcome =
          TrainingLoop.over(
                  ElasticRanks.of(membership).withGroup(options),
                  group -> DistributedDataParallel.wrap(net, group))
              .state(net::addTo)
              .loader(part -> loader(data, part))
              .epochs(EPOCHS)
              .build()
              .run((step, model, batch) -> loss(step.number(), name, batch), net::update);
      System.out.println(outcome + " " + net.digest());
    }
  }

  private Tensor loss(long step, String name, Batch batch) {
    if (step == KILLED_AT && name.equals(DeviceRanksTest.VICTIM)) {
      System.out.println("halted");
      while (true) {
        Thread.onSpinWait();
      }
    }
    return net.loss(batch);
  }
}
