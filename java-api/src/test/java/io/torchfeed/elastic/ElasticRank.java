// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.training.TrainingLoop;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A process of {@link ElasticProcessesTest}: {@code port name folder}. */
final class ElasticRank {
  static final int EPOCHS = 2;

  /** The step in which rank c waits to be killed. */
  static final int KILLED_AT = 4;

  /** The step in which the others wait until d has come. */
  static final int JOINED_AT = 8;

  /** The step in which b asks to leave. */
  static final int LEFT_AT = 13;

  static final String JOINED = "joined";
  static final String LEFT = "left";

  private final Membership membership;
  private final String name;
  private final Path folder;

  private ElasticRank(Membership membership, String name, Path folder) {
    this.membership = membership;
    this.name = name;
    this.folder = folder;
  }

  public static void main(String[] args) throws InterruptedException {
    try (Membership membership =
        Membership.join(
            "127.0.0.1",
            Integer.parseInt(args[0]),
            MembershipOptions.defaults().withName(args[1]))) {
      new ElasticRank(membership, args[1], Path.of(args[2])).run();
    }
  }

  private void run() throws InterruptedException {
    ElasticNet net = new ElasticNet(name.charAt(0));
    try (TensorDataset data = ElasticNet.data()) {
      ElasticRanks ranks = ElasticRanks.of(membership);
      TrainingLoop.Outcome outcome =
          TrainingLoop.over(ranks, group -> DistributedDataParallel.wrap(net, group))
              .state(net::addTo)
              .loader(part -> ElasticNet.loader(data, part))
              .epochs(EPOCHS)
              .whenChanged(
                  step -> System.out.println(ElasticLog.world(ranks, step, name, net.digest())))
              .build()
              .run(
                  (step, model, batch) -> {
                    System.out.println(
                        ElasticLog.batch(ranks.world().generation(), step.number(), batch));
                    disturb(step.number());
                    return net.loss(batch);
                  },
                  net::update);
      System.out.println(outcome + " " + net.digest());
    }
  }

  private void disturb(long step) {
    if (step == KILLED_AT && name.equals("c")) {
      System.out.println("halted");
      await("killed");
    } else if (step == JOINED_AT) {
      await(JOINED);
    } else if (step == LEFT_AT && name.equals("b")) {
      membership.requestLeave();
      await(LEFT);
    }
  }

  /** Waits until the test has created a file. */
  private void await(String file) {
    try {
      while (!Files.exists(folder.resolve(file))) {
        Thread.sleep(5);
      }
    } catch (InterruptedException e) {
      throw new UncheckedIOException(new IOException(e));
    }
  }
}
