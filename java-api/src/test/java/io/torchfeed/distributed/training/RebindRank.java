// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** A process of {@link RebindProcessesTest}: {@code exchange rank port...}. */
final class RebindRank {
  static final int RANKS = 3;

  /** The groups that meet one after the other: all ranks, those left, and a run to compare with. */
  static final int GROUPS = 3;

  private static final int STEPS = 4;
  private static final GroupOptions OPTIONS = GroupOptions.ofTimeout(Duration.ofSeconds(60));

  private final List<Master> masters;
  private final int rank;
  private final DataParallelOptions options;

  private RebindRank(List<Master> masters, int rank, GradientExchange exchange) {
    this.masters = masters;
    this.rank = rank;
    options = DataParallelOptions.defaults().withBucketBytes(200).withExchange(exchange);
  }

  public static void main(String[] args) throws IOException {
    GradientExchange exchange =
        args[0].equals("float16") ? GradientExchange.float16() : GradientExchange.allReduce();
    int rank = Integer.parseInt(args[1]);
    List<Master> masters =
        IntStream.range(0, GROUPS)
            .mapToObj(
                i ->
                    rank == 0
                        ? Master.listen("127.0.0.1")
                        : Master.at("127.0.0.1", Integer.parseInt(args[2 + i])))
            .toList();
    if (rank == 0) {
      System.out.println(
          masters.stream()
              .map(master -> String.valueOf(master.port()))
              .collect(Collectors.joining(" ", "ports ", " end")));
    }
    new RebindRank(masters, rank, exchange).run();
  }

  private ProcessGroup join(int group, int ranks) {
    return ProcessGroup.join(masters.get(group), new Part(ranks, rank), OPTIONS);
  }

  private void run() throws IOException {
    ResumeNet net = new ResumeNet(1 + rank);
    ProcessGroup all = join(0, RANKS);
    try (DistributedDataParallel model = DistributedDataParallel.wrap(net, all, options)) {
      train(model, net);
      if (rank == RANKS - 1) {
        System.out.println("trained");
        System.in.read(); // until the process is killed
      }
      assertThatExceptionOfType(PeerLostException.class).isThrownBy(() -> step(model, net, STEPS));
      all.close();
      try (ProcessGroup left = join(1, RANKS - 1)) {
        model.rebind(left);
        continueBeside(model, net);
      }
    }
  }

  /** Trains on, and beside it in a run that starts now, with the same values. */
  private void continueBeside(DistributedDataParallel model, ResumeNet net) {
    ResumeNet copy = net.copy();
    copy.all().get(5).copy_(net.all().get(5));
    String before = net.bits();
    try (ProcessGroup group = join(2, RANKS - 1);
        DistributedDataParallel other = DistributedDataParallel.wrap(copy, group, options)) {
      assertThat(copy.bits()).isEqualTo(before);
      train(model, net);
      train(other, copy);
      assertThat(net.bits()).isEqualTo(copy.bits()).isNotEqualTo(before);
      model.verifyReplicas();
    }
    System.out.println("equal");
  }

  private void train(DistributedDataParallel model, ResumeNet net) {
    for (int step = 0; step < STEPS; step++) {
      step(model, net, step);
    }
  }

  private void step(DistributedDataParallel model, ResumeNet net, int step) {
    try (PointerScope scope = new PointerScope()) {
      net.trained().forEach(parameter -> parameter.mutable_grad().reset());
      model.backward(net.loss(rank, step));
      for (Tensor parameter : net.trained()) {
        parameter.detach().add_(parameter.grad(), new Scalar(-0.05f));
      }
    }
  }
}
