// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DataParallelOptions.BufferMode;
import io.torchfeed.distributed.training.GradientExchange;
import io.torchfeed.distributed.training.PythonDataParallel;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/** The Java rank of {@link MixedRanksTest}: the same calls as in mixed_ranks.py. */
public final class MixedRank {
  private static final int EPOCHS = 2;
  private static final int STEPS = 8;
  private static final int BATCH = 6;

  private final PythonProcessGroup group;
  private final int rank;
  private final int size;

  MixedRank(PythonProcessGroup group) {
    this.group = group;
    rank = group.rank();
    size = group.size();
  }

  /** All-reduces until a rank is lost, as a rank of the environment. */
  public static void main(String[] args) {
    try (PythonProcessGroup group =
        PythonProcessGroup.join(GroupOptions.ofTimeout(Duration.ofMinutes(1)))) {
      new MixedRank(group).repeat();
    }
  }

  void repeat() {
    try (PointerScope scope = new PointerScope()) {
      Tensor tensor = full(1, 1 << 18);
      System.out.println("steady");
      while (true) {
        group.allReduce(tensor, ReduceOp.SUM);
      }
    }
  }

  void collectives() {
    try (PointerScope scope = new PointerScope()) {
      group.barrier();
      reductions();
      movements();
      messages();
      group.store().set("of " + rank, "a value");
      group.barrier();
      for (int other = 0; other < size; other++) {
        assertThat(group.store().getString("of " + other, Duration.ofSeconds(1)))
            .isEqualTo("a value");
      }
      group.barrier(Duration.ofMinutes(1));
    }
  }

  private void reductions() {
    double sums = size * (size + 1) / 2.0;
    for (ScalarType type :
        List.of(
            ScalarType.Float,
            ScalarType.Double,
            ScalarType.Int,
            ScalarType.Long,
            ScalarType.BFloat16)) {
      Tensor tensor = floats(rank + 1, 2).to(type);
      group.allReduce(tensor, ReduceOp.SUM);
      check(tensor, sums, 2 * size);
    }
    Tensor mean = floats(rank + 1, 2);
    group.allReduce(mean, ReduceOp.MEAN);
    check(mean, sums / size, 2);
    Tensor most = longs(rank, -rank);
    group.allReduce(most, ReduceOp.MAX);
    check(most, size - 1, 0);
    Tensor large = full(rank, 300_001);
    group.allReduce(large, ReduceOp.SUM);
    assertThat(large.equal(full(size * (size - 1) / 2.0, 300_001))).isTrue();
    group.allReduce(floats(), ReduceOp.SUM);
    Tensor[] several = {full(rank, 3), full(rank + 1, 2, 2)};
    group.allReduceCoalesced(several, ReduceOp.SUM);
    assertThat(several[0].equal(full(size * (size - 1) / 2.0, 3))).isTrue();
    assertThat(several[1].equal(full(sums, 2, 2))).isTrue();
    for (int root = 0; root < size; root++) {
      Tensor tensor = floats(rank + 1);
      group.reduce(tensor, ReduceOp.SUM, root);
      check(tensor, rank == root ? sums : rank + 1);
    }
    Tensor part = floats(0, 0);
    Tensor rows = floats(IntStream.range(0, 2 * size).mapToDouble(i -> i + rank).toArray());
    group.reduceScatterTensor(part, rows, ReduceOp.SUM);
    double offsets = size * (size - 1) / 2.0;
    check(part, 2.0 * rank * size + offsets, (2.0 * rank + 1) * size + offsets);
    group.reduceScatterTensor(part, rows, ReduceOp.MAX);
    check(part, 2.0 * rank + size - 1, 2.0 * rank + size);
  }

  private void movements() {
    for (int root = 0; root < size; root++) {
      Tensor tensor =
          longs(rank, 1, 2, 3).reshape(2, 2).to(root == 0 ? ScalarType.Char : ScalarType.Long);
      group.broadcast(tensor, root);
      check(tensor, root, 1, 2, 3);
    }
    Tensor[] all = group.allGather(longs(rank, 10L * rank));
    for (int i = 0; i < size; i++) {
      check(all[i], i, 10 * i);
    }
    Tensor output = full(0, 2L * size);
    group.allGatherIntoTensor(output, floats(rank + 0.5, 1));
    check(
        output,
        IntStream.range(0, 2 * size).mapToDouble(i -> i % 2 > 0 ? 1 : Math.floorDiv(i, 2) + 0.5));
    for (int root = 0; root < size; root++) {
      Tensor[] gathered = group.gather(floats(rank), root);
      assertThat(gathered).hasSize(rank == root ? size : 0);
      for (int i = 0; i < gathered.length; i++) {
        check(gathered[i], i);
      }
      int from = root;
      Tensor[] inputs =
          IntStream.range(0, rank == root ? size : 0)
              .mapToObj(to -> full(10.0 * from + to, 2))
              .toArray(Tensor[]::new);
      Tensor part = floats(0, 0);
      group.scatter(part, inputs, root);
      check(part, 10.0 * root + rank, 10.0 * root + rank);
    }
    exchanges();
  }

  private void exchanges() {
    Tensor output = longs(new long[size]);
    group.allToAllSingle(
        output, longs(IntStream.range(0, size).mapToLong(i -> i + 10L * rank).toArray()));
    check(output, IntStream.range(0, size).mapToDouble(i -> 10 * i + rank));
    // Rank r sends i + 1 rows to rank i.
    Tensor uneven = full(-1, size * (rank + 1L), 2);
    long[] received = new long[size];
    Arrays.fill(received, rank + 1);
    group.allToAllSingle(
        uneven,
        full(rank, size * (size + 1L) / 2, 2),
        received,
        IntStream.range(0, size).mapToLong(i -> i + 1).toArray());
    check(
        uneven.select(1, 0),
        IntStream.range(0, size * (rank + 1)).mapToDouble(row -> Math.floorDiv(row, rank + 1)));
  }

  private void messages() {
    int following = (rank + 1) % size;
    int previous = (rank + size - 1) % size;
    List<Work<Void>> sent =
        List.of(
            group.async().send(longs(rank, 5), following, 5),
            group.async().send(longs(rank, 0), following, 0));
    for (int tag : new int[] {0, 5}) {
      Tensor tensor = longs(-1, -1);
      group.recv(tensor, previous, tag);
      check(tensor, previous, tag);
    }
    sent.forEach(Work::await);
  }

  /** Options that Python's ranks could not follow are refused, and send nothing. */
  void refusals() {
    try (PointerScope scope = new PointerScope()) {
      LinearImpl layer = new LinearImpl(3, 2);
      for (BufferMode mode : List.of(BufferMode.ON_REQUEST, BufferMode.AFTER_BACKWARD)) {
        assertThatExceptionOfType(IllegalArgumentException.class)
            .isThrownBy(
                () ->
                    PythonDataParallel.wrap(
                        layer, group, DataParallelOptions.defaults().withBufferMode(mode)))
            .withMessageContaining("must be BEFORE_FORWARD or OFF")
            .withMessageContaining(mode.name());
      }
      for (GradientExchange exchange :
          List.of(GradientExchange.float16(), GradientExchange.allReduce().withRanksPerNode(2))) {
        assertThatExceptionOfType(IllegalArgumentException.class)
            .isThrownBy(
                () ->
                    PythonDataParallel.wrap(
                        layer, group, DataParallelOptions.defaults().withExchange(exchange)))
            .withMessageContaining("averaged by all-reduce only");
      }
    }
  }

  /** The net of mixed_ranks.py. */
  private static final class Net extends Module {
    private final Conv2dImpl conv = register_module("conv", new Conv2dImpl(1, 4, kernel()));
    private final @Nullable BatchNorm2dImpl norm;
    private final LinearImpl fc;
    private final LinearImpl extra;

    Net(boolean isNormalized) {
      norm =
          isNormalized
              ? register_module("norm", new BatchNorm2dImpl(new BatchNormOptions(4)))
              : null;
      fc = register_module("fc", new LinearImpl(64, 5));
      extra = register_module("extra", new LinearImpl(5, 5));
    }

    private static LongPointer kernel() {
      return new LongPointer(3, 3);
    }

    Tensor forward(Tensor images, boolean withExtra) {
      Tensor x = conv.forward(images);
      if (norm != null) {
        x = norm.forward(x);
      }
      x = fc.forward(torch.relu(x).flatten(1, -1));
      return withExtra ? extra.forward(x) : x;
    }
  }

  void train(Set<String> options) {
    try (PointerScope scope = new PointerScope()) {
      torch.manual_seed(100 + rank); // the values of rank 0 count
      Net net = new Net(options.contains("norm"));
      try (PythonDataParallel model = PythonDataParallel.wrap(net, group, ddpOptions(options))) {
        SGDOptions rates = new SGDOptions(0.1);
        rates.momentum().put(0.9);
        SGD sgd = new SGD(net.parameters(), rates);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
          net.train(true);
          for (int step = 0; step < STEPS; step++) {
            int number = (epoch * STEPS + step) * size + rank;
            boolean withExtra = !options.contains("unused") || step % 2 == 0;
            if (options.contains("accumulate") && step % 2 == 0) {
              try (var accumulating = model.noSync()) {
                backward(model, net, number, withExtra);
              }
            } else {
              backward(model, net, number, withExtra);
              sgd.step();
              sgd.zero_grad();
            }
          }
          evaluate(model, net);
        }
      }
      compare(net);
    }
  }

  void trainMnist() {
    try (PointerScope scope = new PointerScope()) {
      torch.manual_seed(100 + rank);
      MixedMnist net = new MixedMnist();
      net.train(group);
      compare(net);
      assertThat(net.accuracy()).isGreaterThan(0.9);
    }
  }

  private static DataParallelOptions ddpOptions(Set<String> options) {
    DataParallelOptions chosen =
        DataParallelOptions.defaults()
            .withBufferMode(options.contains("norm") ? BufferMode.BEFORE_FORWARD : BufferMode.OFF)
            .withFindUnusedParameters(options.contains("unused"))
            .withStaticGraph(options.contains("static"));
    return options.contains("buckets") ? chosen.withBucketBytes(1048) : chosen;
  }

  private static void backward(PythonDataParallel model, Net net, int number, boolean withExtra) {
    try (PointerScope scope = new PointerScope()) {
      Tensor x = values(1000L * number, BATCH, 1, 6, 6);
      Tensor y = values(500L * number, BATCH, 5);
      model.beforeForward();
      model.backward(net.forward(x, withExtra).sub(y).pow(new Scalar(2)).mean());
    }
  }

  @SuppressWarnings("try") // guard is not referenced
  private static void evaluate(PythonDataParallel model, Net net) {
    net.eval();
    try (NoGradGuard guard = new NoGradGuard()) {
      model.beforeForward();
      net.forward(values(0, 2, 1, 6, 6), true);
    }
  }

  @SuppressWarnings("try") // guard is not referenced
  private void compare(Module net) {
    try (NoGradGuard guard = new NoGradGuard()) {
      TensorVector state = new TensorVector();
      for (TensorVector tensors : List.of(net.parameters(), net.buffers())) {
        for (long i = 0; i < tensors.size(); i++) {
          state.push_back(tensors.get(i).to(ScalarType.Double).flatten());
        }
      }
      Tensor mine = torch.cat(state);
      for (Tensor other : group.allGather(mine)) {
        Tensor difference = mine.sub(other).abs();
        assertThat(mine.allclose(other, 1e-6, 1e-12, false))
            .as("the largest difference is %s", difference.max().item_double())
            .isTrue();
      }
    }
  }

  void otherModel() {
    try (PointerScope scope = new PointerScope()) {
      Net net = new Net(false);
      assertThatExceptionOfType(IllegalArgumentException.class)
          .isThrownBy(() -> PythonDataParallel.wrap(net, group, ddpOptions(Set.of())))
          .withMessageContaining("DDP expects same model");
    }
  }

  /** The same numbers as in mixed_ranks.py. */
  static Tensor values(long first, long... shape) {
    int count = Math.toIntExact(Arrays.stream(shape).reduce(1, (a, b) -> a * b));
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) ((first + i) * 7919 % 1013 / 1013.0 - 0.5);
    }
    return Tensor.create(values, shape);
  }

  private static Tensor floats(double... values) {
    return Tensor.create(values, values.length).to(ScalarType.Float);
  }

  private static Tensor longs(long... values) {
    return Tensor.create(values, values.length);
  }

  private static Tensor full(double value, long... shape) {
    return torch.full(shape, new Scalar(value)).to(ScalarType.Float);
  }

  private static void check(Tensor tensor, DoubleStream expected) {
    check(tensor, expected.toArray());
  }

  private static void check(Tensor tensor, double... expected) {
    double[] got = new double[Math.toIntExact(tensor.numel())];
    new DoublePointer(tensor.to(ScalarType.Double).contiguous().data_ptr()).get(got);
    assertThat(got).containsExactly(expected);
  }
}
