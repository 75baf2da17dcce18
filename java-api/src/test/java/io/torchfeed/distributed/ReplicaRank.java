// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DataParallelOptions.BufferMode;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReductionStats;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** One of two ranks that train the model of {@code python_ddp.py} as PyTorch does. */
final class ReplicaRank {
  private static final List<String> NAMES = List.of("a", "b", "c", "d");
  private static final long[][] SHAPES = {{3, 4}, {5}, {2, 2, 2}, {1}};
  private static final String ALL = "abcd";
  private static final int STEPS = 4;
  private static final DataParallelOptions PYTHON =
      DataParallelOptions.defaults().withBufferMode(BufferMode.BEFORE_FORWARD);

  private final ProcessGroup group;
  private final Map<String, String> golden = new LinkedHashMap<>();

  private ReplicaRank(ProcessGroup group) {
    this.group = group;
  }

  /** Runs a rank as a process, for {@code .ci/check-libtorch}. */
  public static void main(String[] args) throws IOException {
    run(ProcessGroup.join(), args[0]);
  }

  static void run(ProcessGroup group, String file) throws IOException {
    ReplicaRank rank = new ReplicaRank(group);
    try (group) {
      rank.matchesPython(Path.of(file));
      rank.scopesNestAndCloseOnce();
      rank.optionsAreChecked();
      rank.statsCountReductions();
      rank.aFailedModelIsWrappedAgain();
    }
  }

  private void matchesPython(Path file) throws IOException {
    String mine = " rank=" + group.rank() + " ";
    for (String line : Files.readAllLines(file)) {
      if (line.contains(mine)) {
        String[] words = line.split(" ", 5);
        golden.put(words[0] + " " + words[2] + " " + words[3], words[4]);
      }
    }
    String[] all = {ALL, ALL, ALL, ALL};
    String[] changing = {"ab", "ac", ALL, "d"};
    String[] apart =
        group.rank() == 0
            ? new String[] {"ab", "a", "abc", "d"}
            : new String[] {"bc", "b", "c", ALL};
    DataParallelOptions unused = PYTHON.withFindUnusedParameters(true);
    DataParallelOptions fixed = PYTHON.withStaticGraph(true);
    scenario("plain", new Net(group), PYTHON, all, 1, false);
    scenario("caps", new Net(group), PYTHON.withBucketBytes(24), all, 1, false);
    scenario("views", new Net(group), PYTHON.withGradientAsBucketView(true), all, 1, true);
    scenario("accumulated", new Net(group), PYTHON, all, 3, false);
    scenario(
        "accumulated-views", new Net(group), PYTHON.withGradientAsBucketView(true), all, 3, false);
    scenario("unused", new Net(group), unused, changing, 1, false);
    scenario("unused-caps", new Net(group), unused.withBucketBytes(24), changing, 1, false);
    scenario("unused-apart", new Net(group), unused, apart, 1, false);
    scenario(
        "unused-views", new Net(group), unused.withGradientAsBucketView(true), apart, 1, false);
    scenario("unused-accumulated", new Net(group), unused, apart, 2, false);
    String always = group.rank() == 0 ? "ab" : "bd";
    scenario(
        "static", new Net(group), fixed, new String[] {always, always, always, always}, 1, false);
    scenario(
        "static-caps",
        new Net(group),
        fixed.withBucketBytes(24),
        new String[] {"abd", "abd", "abd", "abd"},
        1,
        false);
    List<Long> each = List.of(24L, 40L, 16L);
    scenario("list", new Net(group), PYTHON.withBucketBytesList(each), all, 1, false);
    scenario("list-unused", new Net(group), unused.withBucketBytesList(each), changing, 1, false);
    scenario(
        "list-static",
        new Net(group),
        fixed.withBucketBytesList(each),
        new String[] {"abd", "abd", "abd", "abd"},
        1,
        false);
    scenario("ignored", new Net(group), PYTHON.withIgnored(List.of("b", "count")), all, 1, false);
    String[] withShared = {"abcde", "abcde", "abcde", "abcde"};
    scenario("shared", new Net(group).withShared(), PYTHON, withShared, 1, false);
    String[] withTable = {"abcdt", "abcdt", "abcdt", "abcdt"};
    scenario("sparse", new Net(group).withTable(), PYTHON, withTable, 1, false);
    scenario("buffers-off", new Net(group), PYTHON.withBufferMode(BufferMode.OFF), all, 1, false);
    assertThat(golden).as("results of Python that were not compared").isEmpty();
  }

  private void scenario(
      String name,
      Net net,
      DataParallelOptions options,
      String[] uses,
      int micro,
      boolean keepGradients) {
    try (PointerScope scope = new PointerScope();
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group, options)) {
      for (int step = 0; step < STEPS; step++) {
        net.clearGradients(keepGradients);
        if (micro > 1) {
          try (var accumulating = model.noSync()) {
            for (int part = 0; part < micro - 1; part++) {
              model.beforeForward();
              model.backward(net.loss(uses[step], step * micro + part));
            }
          }
        }
        model.beforeForward();
        Tensor loss = net.loss(uses[step], step * micro + micro - 1);
        if (step == 1) {
          loss.backward();
        } else {
          model.backward(loss);
        }
        compare(name + " step=" + step + " ", net, model);
      }
    }
  }

  private void compare(String start, Net net, DistributedDataParallel model) {
    for (Map.Entry<String, Tensor> parameter : net.parametersByName().entrySet()) {
      Tensor gradient = parameter.getValue().grad();
      String key = start + parameter.getKey();
      String expected = golden.remove(key);
      if (gradient.defined()) {
        assertThat(floats(gradient)).as(key).isEqualTo(floats(expected));
      } else {
        assertThat(expected).as(key).isEqualTo("none");
      }
    }
    assertThat(floats(net.count)).as(start).isEqualTo(floats(golden.remove(start + "buffer")));
    String buckets =
        model.stats().buckets().stream()
            .map(bucket -> String.join(" ", bucket.parameters()))
            .collect(Collectors.joining("|"));
    assertThat(buckets).as(start).isEqualTo(golden.remove(start + "buckets"));
  }

  private void scopesNestAndCloseOnce() {
    Net net = new Net(group);
    try (var model = DistributedDataParallel.wrap(net, group)) {
      var outer = model.noSync();
      try (var inner = model.noSync()) {
        model.backward(net.loss(ALL, 0));
      }
      model.backward(net.loss(ALL, 0));
      assertThat(model.reductions()).isZero();
      outer.close();
      outer.close();
      model.backward(net.loss(ALL, 0));
      assertThat(model.reductions()).isEqualTo(1);
      var late = model.noSync();
      model.close();
      late.close();
      assertThatIllegalStateException().isThrownBy(model::noSync).withMessageContaining("closed");
    }
  }

  private void optionsAreChecked() {
    Net net = new Net(group);
    var options = DataParallelOptions.defaults();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withBucketBytesList(List.of()))
        .withMessage("bytes must hold at least one size, got none");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withBucketBytesList(List.of(24L, 0L)))
        .withMessage("bytes must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withBucketBytes(0))
        .withMessage("first must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> DistributedDataParallel.wrap(net, group, options.withIgnored(List.of("x", "a"))))
        .withMessageContaining("got x");
    boolean first = group.rank() == 0;
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DistributedDataParallel.wrap(net, group, options.withStaticGraph(first)))
        .withMessageContaining("rank 0 has staticGraph true; rank 1 has staticGraph false");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                DistributedDataParallel.wrap(
                    net, group, options.withIgnored(List.of(first ? "a" : "b"))))
        .withMessageContaining("rank 0 has ignored a; rank 1 has ignored b");
  }

  private void statsCountReductions() {
    Net net = new Net(group);
    try (var model =
        DistributedDataParallel.wrap(
            net, group, DataParallelOptions.defaults().withBucketBytes(4, 24))) {
      for (int step = 0; step < 3; step++) {
        model.backward(net.loss(ALL, step));
      }
      ReductionStats stats = model.stats();
      assertThat(stats.reductions()).isEqualTo(3);
      assertThat(stats.buckets()).hasSize(3);
      ReductionStats.Bucket last = stats.buckets().get(2);
      assertThat(last.parameters()).containsExactly("b", "a");
      assertThat(last.bytes()).isEqualTo(68);
      assertThat(last.reductions()).isEqualTo(2);
      assertThat(last.time()).isPositive();
      assertThat(stats.waited()).isPositive();
      assertThat(stats.communicating()).isGreaterThanOrEqualTo(stats.overlapped());
      assertThat(stats.overlapShare()).isBetween(0., 1.);
      assertThat(stats.toString()).startsWith("3 reductions of 3 buckets, 104 bytes");
      net.count.fill_(new Scalar(group.rank()));
      model.broadcastBuffers();
      assertThat(floats(net.count)).containsExactly(0, 0);
    }
  }

  private void aFailedModelIsWrappedAgain() {
    Net net = new Net(group);
    var model = DistributedDataParallel.wrap(net, group);
    model.backward(net.loss(ALL, 0));
    assertThatIllegalStateException()
        .isThrownBy(() -> model.backward(net.loss("abd", 0)))
        .withMessageContaining("parameter c (1 in total) received no gradient");
    assertThatIllegalStateException()
        .isThrownBy(model::beforeForward)
        .withMessageContaining("an earlier backward pass failed: parameter c");
    model.close();
    try (var again = DistributedDataParallel.wrap(net, group)) {
      for (int step = 0; step < 2; step++) {
        net.clearGradients(false);
        again.backward(net.loss(ALL, step));
      }
      again.verifyReplicas();
    }
  }

  private static float[] floats(Tensor tensor) {
    Tensor dense = (tensor.is_sparse() ? tensor.to_dense() : tensor).detach().contiguous();
    float[] values = new float[Math.toIntExact(dense.numel())];
    new FloatPointer(dense.data_ptr()).get(values);
    for (int i = 0; i < values.length; i++) {
      values[i] += 0f; // no negative zeros
    }
    return values;
  }

  private static float[] floats(String text) {
    String[] words = text.split(" ", -1);
    float[] values = new float[words.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = Float.parseFloat(words[i]) + 0f;
    }
    return values;
  }

  /** The model of {@code python_ddp.py}. */
  @SuppressWarnings("try") // guards are not referenced
  private static final class Net extends Module {
    private final int rank;
    private final Tensor count;
    private final List<Tensor> tensors = new ArrayList<>();
    private final Map<String, Tensor> parameters = new LinkedHashMap<>();
    private final EmbeddingImpl table = new EmbeddingImpl(sparse());

    Net(ProcessGroup group) {
      rank = group.rank();
      for (int number = 0; number < NAMES.size(); number++) {
        String name = NAMES.get(number);
        long[] shape = SHAPES[number];
        float[] values = new float[Math.toIntExact(size(shape))];
        for (int i = 0; i < values.length; i++) {
          values[i] = (i % 5 / 2f + number - 1) * (rank + 1);
        }
        Tensor parameter = Tensor.create(values, shape);
        register_parameter(name, parameter); // returns a reference that the next one invalidates
        tensors.add(parameter);
        parameters.put(name, parameter);
      }
      count = Tensor.create(10f * (rank + 1), 10f * (rank + 1));
      register_buffer("count", count);
    }

    Net withShared() {
      register_parameter("e", tensors.get(1));
      return this;
    }

    Net withTable() {
      register_module("table", table);
      float[] values = new float[8];
      for (int i = 0; i < values.length; i++) {
        values[i] = (i - 3) * (rank + 1);
      }
      try (var guard = new NoGradGuard()) {
        table.weight().copy_(Tensor.create(values, 4, 2));
      }
      parameters.put("table.weight", table.weight());
      return this;
    }

    private static EmbeddingOptions sparse() {
      EmbeddingOptions options = new EmbeddingOptions(4, 2);
      options.sparse().put(true);
      return options;
    }

    Map<String, Tensor> parametersByName() {
      return parameters;
    }

    void clearGradients(boolean keep) {
      for (Tensor parameter : parameters.values()) {
        if (keep && parameter.grad().defined()) {
          parameter.grad().zero_();
        } else {
          parameter.mutable_grad().reset();
        }
      }
    }

    Tensor loss(String used, int step) {
      try (var guard = new NoGradGuard()) {
        count.add_(new Scalar(rank + 1));
      }
      Tensor loss = Tensor.create(0f);
      for (int number = 0; number < NAMES.size(); number++) {
        String name = NAMES.get(number);
        if (used.contains(name)) {
          Tensor parameter = tensors.get(number);
          float[] values = new float[Math.toIntExact(parameter.numel())];
          for (int i = 0; i < values.length; i++) {
            values[i] = (7 * i + 3 * number + 5 * step + 11 * rank) % 9 - 4;
          }
          Tensor value = Tensor.create(values, SHAPES[number]);
          loss = loss.add(parameter.mul(parameter).mul(value).sum());
        }
      }
      if (used.contains("e")) {
        loss = loss.add(tensors.get(1).mul(new Scalar(step + rank)).sum());
      }
      if (used.contains("t")) {
        Tensor picked = table.forward(Tensor.create(new long[] {rank, 2, step % 4}, 3));
        loss = loss.add(picked.mul(new Scalar(rank + 1)).sum());
      }
      return loss.sum();
    }

    private static long size(long[] shape) {
      long size = 1;
      for (long each : shape) {
        size *= each;
      }
      return size;
    }
  }
}
