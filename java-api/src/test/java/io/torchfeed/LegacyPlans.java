// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.data.Batch;
import io.torchfeed.data.Batches;
import io.torchfeed.data.DataLoader;
import io.torchfeed.data.DataLoaderBuilder;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.source.ObjectStreamDataset;
import io.torchfeed.data.source.SampleEncoder;
import io.torchfeed.data.source.TextLines;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.BlockedSampler;
import io.torchfeed.sampler.order.ClassBalancedSampler;
import io.torchfeed.sampler.order.ConcatenatedSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ListSampler;
import io.torchfeed.sampler.order.MixedSampler;
import io.torchfeed.sampler.order.RepeatedSampler;
import io.torchfeed.sampler.order.ShardShuffleSampler;
import io.torchfeed.sampler.order.ShardedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.order.WeightedSampler;
import io.torchfeed.sampler.order.WeightedShuffleSampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.sampler.python.PythonRandomSampler;
import io.torchfeed.sampler.python.SubsetRandomSampler;
import io.torchfeed.sampler.python.WeightedRandomSampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import io.torchfeed.sampler.torch.DistributedSequentialSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import io.torchfeed.text.TextState;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The plans, loaders and text files of golden/states_9842441.txt by name, and the notation of what
 * they deliver.
 */
public final class LegacyPlans {
  /** A size that is a multiple of neither 2 nor 3. */
  private static final int SIZE = 23;

  /** The rows of the datasets that are loaded. */
  private static final int ROWS = 47;

  private static final long SEED = 42;

  /** The maximum number of indices recorded of an endless plan. */
  private static final int MAX_INDICES = 60;

  private static final double[] WEIGHTS = weights();
  private static final int[] LABELS = labels();
  private static final long[] SHARDS = {5, 1, 7, 4, 0, 3, 6, 2};

  private static final Costs COSTS = Costs.computed(ROWS, i -> 1 + i * 37 % 20);

  /** Costs in three clusters. */
  private static final Costs CLUSTERED =
      Costs.computed(ROWS, i -> i % 12 == 5 ? 500 + i : i % 5 == 3 ? 90 : 2 + i % 3);

  private LegacyPlans() {}

  /** Returns a plan of indices; plans that are not divided ignore world size and rank. */
  public static Sampler sampler(String name, Part part) {
    return switch (name) {
      // libtorch's
      case "sequential" -> new SequentialSampler(SIZE);
      case "sequential-in-java" -> new SequentialSampler(SIZE).inJava();
      case "random" -> new RandomSampler(SIZE, SEED);
      case "random-in-java" -> new RandomSampler(SIZE, SEED).inJava();
      case "distributed-sequential" -> new DistributedSequentialSampler(SIZE, part);
      case "distributed-sequential-drop" -> new DistributedSequentialSampler(SIZE, part, Tail.DROP);
      case "distributed-sequential-in-java" ->
          new DistributedSequentialSampler(SIZE, part).inJava();
      case "distributed-random" -> new DistributedRandomSampler(SIZE, part);
      case "distributed-random-drop" -> new DistributedRandomSampler(SIZE, part, Tail.DROP);
      case "distributed-random-in-java" -> new DistributedRandomSampler(SIZE, part).inJava();
      // Python's
      case "python-random" -> new PythonRandomSampler(SIZE, SEED);
      case "python-random-with-replacement" -> new PythonRandomSampler(SIZE, true, 30, SEED);
      case "python-random-in-laps" -> new PythonRandomSampler(SIZE, false, 30, SEED);
      case "python-subset" -> new SubsetRandomSampler(thirds(), SEED);
      case "python-weighted" -> new WeightedRandomSampler(WEIGHTS, SIZE, SEED);
      case "python-weighted-without-replacement" ->
          new WeightedRandomSampler(WEIGHTS, 12, false, SEED);
      case "python-distributed" -> python(part);
      case "python-distributed-drop" -> python(part).withTail(Tail.DROP);
      case "python-distributed-uneven" -> python(part).withTail(Tail.UNEVEN);
      case "python-distributed-in-order" -> PythonDistributedSampler.inOrder(SIZE, part);
      // torchfeed's, of a whole dataset
      case "weighted" -> WeightedSampler.of(WEIGHTS, SIZE, SEED);
      case "weighted-floats" -> WeightedSampler.ofFloats(new float[] {1, 0, 2.5f, 4}, 15, SEED);
      case "weighted-shuffle" -> WeightedShuffleSampler.of(WEIGHTS, SEED);
      case "weighted-shuffle-cut" -> WeightedShuffleSampler.of(WEIGHTS, 9, SEED);
      case "class-cycling" -> cycling().build();
      case "class-cycling-reshuffled" -> cycling().reshuffleEachCycle(true).build();
      case "class-cycling-ignoring" -> cycling().ignore(2).samples(31).build();
      case "class-cycling-longest-class" -> cycling().coverLongestClass(true).build();
      case "class-cycling-distinct" -> cycling().distinctInBatch(6).build();
      case "class-cycling-distinct-reshuffled" ->
          cycling().distinctInBatch(6).reshuffleEachCycle(true).build();
      case "class-cycling-sets" ->
          ClassBalancedSampler.ofClassSets(4, new int[][] {{0, 1}, {}, {2}, {3, 0}, {1}, {1, 2, 3}})
              .samples(20)
              .seed(SEED)
              .build();
      case "concatenated" -> new ConcatenatedSampler(sources());
      case "mixed-until-first" -> MixedSampler.untilFirstExhausted(sources(), 7, 2, 1);
      case "mixed-until-all" -> MixedSampler.untilAllExhausted(sources(), 7, 2, 1);
      case "mixed-of-length" -> MixedSampler.ofLength(29, sources(), 3, 2, 2);
      case "repeated" -> new RepeatedSampler(new ShuffledSampler(9, SEED), 25);
      case "repeated-endless" -> RepeatedSampler.endless(new ShuffledSampler(9, SEED));
      case "list" -> ListSampler.inOrder(thirds());
      case "list-shuffled" -> ListSampler.shuffled(SEED, thirds());
      case "shard-shuffle" -> shards();
      case "shard-shuffle-in-order" -> ShardShuffleSampler.inOrder(SHARDS);
      // torchfeed's, divided
      case "shuffled" -> shuffled(part, Tail.PAD);
      case "shuffled-drop" -> shuffled(part, Tail.DROP);
      case "shuffled-uneven" -> shuffled(part, Tail.UNEVEN);
      case "strided-sequential" -> new StridedSampler(new SequentialSampler(SIZE), part);
      case "strided-random-drop" ->
          new StridedSampler(new RandomSampler(SIZE, SEED), part, Tail.DROP);
      case "strided-list-uneven" ->
          new StridedSampler(ListSampler.shuffled(SEED, thirds()), part, Tail.UNEVEN);
      case "strided-subset" -> new StridedSampler(new SubsetRandomSampler(thirds(), SEED), part);
      case "strided-weighted" -> new StridedSampler(WeightedSampler.of(WEIGHTS, SIZE, SEED), part);
      case "strided-weighted-shuffle" ->
          new StridedSampler(WeightedShuffleSampler.of(WEIGHTS, SEED), part);
      case "strided-class-cycling" -> new StridedSampler(cycling().build(), part);
      case "strided-concatenated" -> new StridedSampler(new ConcatenatedSampler(sources()), part);
      case "strided-mixed" ->
          new StridedSampler(MixedSampler.untilAllExhausted(sources(), 7, 2, 1), part);
      case "strided-repeated" ->
          new StridedSampler(new RepeatedSampler(new RandomSampler(9, SEED), 25), part, Tail.DROP);
      case "strided-shard-shuffle" -> new StridedSampler(shards(), part);
      case "blocked" -> blocked(part);
      case "blocked-drop" -> blocked(part).withTail(Tail.DROP);
      case "blocked-uneven" -> blocked(part).withTail(Tail.UNEVEN);
      case "blocked-contiguous" -> BlockedSampler.contiguous(shards(), part);
      case "sharded-strided" -> ShardedSampler.strided(shards(), part);
      case "sharded-strided-drop" -> ShardedSampler.strided(shards(), part).withTail(Tail.DROP);
      case "sharded-strided-uneven" -> ShardedSampler.strided(shards(), part).withTail(Tail.UNEVEN);
      case "sharded-blocked" -> ShardedSampler.blocked(shards(), 2, part);
      case "sharded-contiguous" -> ShardedSampler.contiguous(shards(), part).withTail(Tail.UNEVEN);
      case "balanced-bucketed" -> balanced(COSTS, part).build();
      case "balanced-bucketed-drop" -> balanced(COSTS, part).tail(Tail.DROP).build();
      case "balanced-bucketed-clustered" -> balanced(CLUSTERED, part).build();
      case "balanced-bucketed-windows" -> balanced(COSTS, part).window(2).jitter(0).build();
      case "balanced-mixed" -> mixed(COSTS, part).build();
      case "balanced-mixed-drop" -> mixed(COSTS, part).tail(Tail.DROP).build();
      case "balanced-mixed-clustered" -> mixed(CLUSTERED, part).build();
      case "balanced-mixed-windows" ->
          mixed(CLUSTERED, part).window(3).jitter(0.25).tail(Tail.DROP).build();
      case "balanced-karmarkar-karp" ->
          balanced(COSTS, part)
              .assignment(LoadBalancingDistributedSampler.StepAssignment.KARMARKAR_KARP)
              .build();
      case "balanced-mixed-karmarkar-karp" ->
          mixed(CLUSTERED, part)
              .assignment(LoadBalancingDistributedSampler.StepAssignment.KARMARKAR_KARP)
              .build();
      // Bagua's
      case "bagua" -> bagua(part);
      case "bagua-drop" -> bagua(part).withTail(Tail.DROP);
      case "bagua-in-order" -> bagua(part).inOrder();
      case "bagua-with-noise" -> bagua(part).withLevel(0.5);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Returns a plan of batches; plans that are not divided ignore world size and rank. */
  public static BatchSampler batches(String name, Part part) {
    return switch (name) {
      case "fixed-sequential" -> new FixedSizeBatchSampler(new SequentialSampler(SIZE), 4);
      case "fixed-random-drop-last" ->
          new FixedSizeBatchSampler(new RandomSampler(SIZE, SEED), 4, true);
      case "fixed-shuffled" -> new FixedSizeBatchSampler(shuffled(part, Tail.PAD), 4);
      case "fixed-shuffled-by-3" -> new FixedSizeBatchSampler(shuffled(part, Tail.PAD), 3);
      case "fixed-shuffled-drop" -> new FixedSizeBatchSampler(shuffled(part, Tail.DROP), 4, true);
      case "fixed-shuffled-uneven" -> new FixedSizeBatchSampler(shuffled(part, Tail.UNEVEN), 4);
      case "fixed-python" -> new FixedSizeBatchSampler(python(part), 4);
      case "fixed-balanced" -> new FixedSizeBatchSampler(balanced(COSTS, part).build(), 3);
      case "whole-batches" -> wholeBatches(part);
      case "whole-batches-drop" -> wholeBatches(part).withTail(Tail.DROP);
      case "whole-batches-of-class-cycling" ->
          DistributedBatchSampler.ofWholeBatches(cycling().build(), 4, part);
      case "global-batches" -> globalBatches(part);
      case "global-batches-drop" -> globalBatches(part).withTail(Tail.DROP);
      case "global-batches-of-random" ->
          DistributedBatchSampler.ofGlobalBatches(new RandomSampler(SIZE, SEED), 6, part);
      case "token-budget" -> tokenBudget(COSTS, 60, part).build();
      case "token-budget-most-samples" -> tokenBudget(COSTS, 60, part).maxSamples(3).build();
      case "token-budget-clustered" -> tokenBudget(CLUSTERED, 600, part).build();
      case "bagua-batches" -> BaguaLoadBalancingBatchSampler.bySumOfCosts(bagua(part), COSTS, 40);
      case "bagua-batches-drop" ->
          BaguaLoadBalancingBatchSampler.bySumOfCosts(bagua(part), COSTS, 40).withTail(Tail.DROP);
      case "bagua-batches-of-a-function" ->
          BaguaLoadBalancingBatchSampler.of(
                  bagua(part).withLevel(0.25), "pairs", LegacyPlans::pairs)
              .withMaxBatchSize(2);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Returns a loader of rows by index. */
  public static DataLoader loader(String name, Part part) {
    return switch (name) {
      case "tensors" -> ofTensors(loaded(part), 1, true);
      case "tensors-ready-first" -> ofTensors(loaded(part), 2, false);
      case "tensors-without-workers" -> {
        try (TensorDataset data = tensors()) {
          yield DataLoader.over(data).batchSampler(loaded(part)).workers(0).build();
        }
      }
      case "tensors-in-budget" -> ofTensors(batches("token-budget", part), 1, true);
      case "java" -> ofSamples(new Squares(), loaded(part), 2, true);
      case "java-ready-first" -> readyFirst(new Squares(), part);
      case "java-in-whole-batches" ->
          ofSamples(new Squares(), batches("whole-batches", part), 1, true);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** The loader "java-ready-first" over other samples of the same columns. */
  public static DataLoader readyFirst(Dataset data, Part part) {
    return ofSamples(data, loaded(part), 2, false);
  }

  /** A loader of a stream. */
  public static DataLoader stream(String name, Path folder, Part part) {
    return switch (name) {
      case "counters" -> stream(new Counters(PlanParameters.of("stream")), part, 4);
      case "counters-by-3" -> stream(new Counters(PlanParameters.of("stream")), part, 3);
      case "counters-drop-last" ->
          DataLoader.over(new Counters(PlanParameters.of("counters").with("version", 2)))
              .part(part)
              .batchSize(4)
              .workers(2)
              .dropLast(true)
              .seed(SEED)
              .build();
      case "objects-shuffled", "text", "text-shuffled", "text-packed-shuffled" ->
          stream(rows(objects(name, folder)), part, 4);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Streams of objects: texts of two numbers. */
  public static ObjectStreamDataset<String> objects(String name, Path folder) {
    return switch (name) {
      case "objects-shuffled" -> new Words().shuffled(4, SEED);
      case "text" -> lines(folder, 4, "a.txt", "b.txt");
      case "text-shuffled" -> lines(folder, 4, "a.txt", "b.txt").shuffled(5, SEED);
      case "text-packed-shuffled" ->
          lines(folder, 3, "e.txt.gz", "a.txt", "f.txt.zst").shuffled(6, SEED);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Returns the division of a text among ranks. */
  public static TextPartition text(String name, Path folder, int worldSize) {
    return switch (name) {
      case "one-file" -> TextPartition.plan(paths(folder, "a.txt"), worldSize);
      case "several-files" ->
          TextPartition.plan(paths(folder, "a.txt", "b.txt", "c.txt", "d.txt"), worldSize);
      case "folder" -> TextPartition.plan(List.of(folder.toString()), worldSize);
      case "gzip" -> TextPartition.plan(paths(folder, "a.txt", "e.txt.gz"), worldSize);
      case "zstd" -> TextPartition.plan(paths(folder, "f.txt.zst", "a.txt"), worldSize);
      case "returns-kept" -> TextPartition.plan(paths(folder, "b.txt"), worldSize);
      case "small-buffer" -> TextPartition.plan(paths(folder, "d.txt", "a.txt"), worldSize);
      case "edges", "edges-stolen" ->
          TextPartition.plan(paths(folder, "a.txt", "b.txt"), worldSize, 32);
      case "edges-dealt" ->
          TextPartition.plan(paths(folder, "a.txt", "b.txt"), worldSize, 32).roundRobin();
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Returns the options with which the lines of a text are read. */
  public static LineOptions lineOptions(String name) {
    return switch (name) {
      case "returns-kept" -> LineOptions.DEFAULT.with(LineOptions.CarriageReturn.KEEP);
      case "small-buffer" -> new LineOptions(LineOptions.CarriageReturn.REMOVE, 64, 1000);
      default -> LineOptions.DEFAULT;
    };
  }

  /** Returns the division of what is left of a text. */
  public static TextPartition rest(
      String name, Path folder, List<TextState> states, int worldSize) {
    return name.equals("edges-stolen")
        ? text(name, folder, worldSize).steal(states)
        : text(name, folder, worldSize).resume(states, worldSize);
  }

  /** Writes the text files. The header of golden/states_9842441.txt describes them. */
  public static void writeFiles(Path folder) throws IOException {
    Files.write(folder.resolve("a.txt"), numbered(0, 30, "\n"));
    String marked = "\uFEFF" + new String(numbered(100, 10, "\r\n"), UTF_8) + "110,72";
    Files.write(folder.resolve("b.txt"), marked.getBytes(UTF_8));
    Files.write(folder.resolve("c.txt"), new byte[0]);
    String any = "first\n\n\n" + "0123456789".repeat(15) + "\nna\u00EFve \u6587\n\nlast\n";
    Files.write(folder.resolve("d.txt"), any.getBytes(UTF_8));
    Files.write(folder.resolve("e.txt.gz"), gzip(numbered(200, 12, "\n")));
    Files.write(folder.resolve("f.txt.zst"), zstd(numbered(300, 12, "\n")));
  }

  /** Reads a cursor to its end: indices, with a p after padding. */
  public static String follows(Cursor cursor) {
    List<String> indices = new ArrayList<>();
    long[] index = new long[1];
    while (indices.size() < MAX_INDICES) {
      long position = cursor.position();
      if (cursor.next(index, 0, 1) == 0) {
        return String.join(" ", indices);
      }
      indices.add(index[0] + padding(cursor.isPadding(position)));
    }
    return String.join(" ", indices) + " ...";
  }

  /** Reads a cursor to its end: batches separated by |. */
  public static String follows(BatchCursor cursor, int maxBatchSize) {
    List<String> batches = new ArrayList<>();
    long[] indices = new long[maxBatchSize];
    while (true) {
      long position = cursor.position();
      int size = cursor.next(indices, 0);
      if (size == 0) {
        return String.join("|", batches);
      }
      List<String> batch = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        batch.add(indices[i] + padding(cursor.isPadding(position, i)));
      }
      batches.add(String.join(" ", batch));
    }
  }

  /** Reads a pass to its end: batches by number. */
  public static String follows(Batches pass) {
    SortedMap<Long, String> batches = new TreeMap<>();
    while (pass.hasNext()) {
      Batch batch = pass.next();
      if (batches.put(batch.number(), rows(batch, batch.tensor(0), batch.tensor(1))) != null) {
        throw new IllegalStateException("batch %d came twice".formatted(batch.number()));
      }
    }
    return joined(batches);
  }

  /** Reads a cursor to its end: lines as file@offset:text, separated by |. */
  public static String follows(LineCursor cursor) {
    List<String> lines = new ArrayList<>();
    while (cursor.next()) {
      lines.add(
          "%s@%d:%s"
              .formatted(
                  cursor.path().getFileName(),
                  cursor.offset(),
                  cursor.text().replace("\r", "\\r")));
    }
    return String.join("|", lines);
  }

  /** Reads a stream to its end: objects separated by |. */
  public static String follows(ObjectStreamDataset.ObjectStream<String> stream) throws Exception {
    List<String> objects = new ArrayList<>();
    for (String object = stream.next(); object != null; object = stream.next()) {
      objects.add(object);
    }
    return String.join("|", objects);
  }

  private static String joined(SortedMap<Long, String> batches) {
    List<String> all = new ArrayList<>();
    batches.forEach((number, rows) -> all.add(number + "=" + rows));
    return String.join("|", all);
  }

  /** Rows as index:value/value. */
  private static String rows(Batch batch, Tensor first, Tensor second) {
    long[] indices = batch.indices();
    long[] firsts = longs(first);
    long[] seconds = longs(second);
    List<String> rows = new ArrayList<>();
    for (int i = 0; i < indices.length; i++) {
      rows.add(indices[i] + padding(batch.isPadding(i)) + ":" + firsts[i] + "/" + seconds[i]);
    }
    return String.join(" ", rows);
  }

  private static long[] longs(Tensor tensor) {
    long[] values = new long[(int) tensor.numel()];
    tensor.data_ptr_long().get(values);
    return values;
  }

  private static String padding(boolean isPadding) {
    return isPadding ? "p" : "";
  }

  private static double[] weights() {
    double[] weights = new double[SIZE];
    Arrays.setAll(weights, i -> i % 7 == 3 ? 0 : 0.5 + i % 5);
    return weights;
  }

  private static int[] labels() {
    int[] labels = new int[SIZE];
    Arrays.setAll(labels, i -> i % 9 == 0 ? 3 : i % 4 == 1 ? 2 : i % 2);
    return labels;
  }

  private static long[] thirds() {
    long[] indices = new long[17];
    Arrays.setAll(indices, i -> 3L * i);
    return indices;
  }

  private static List<MixedSampler.Source> sources() {
    return MixedSampler.Source.ofDatasets(
        List.of(
            new ShuffledSampler(12, SEED), new SequentialSampler(5), new RandomSampler(4, SEED)),
        12,
        5,
        4);
  }

  /** Class 4 has no samples. */
  private static ClassBalancedSampler.Builder cycling() {
    return ClassBalancedSampler.ofLabels(5, LABELS).seed(SEED);
  }

  private static ShardShuffleSampler shards() {
    return ShardShuffleSampler.of(SHARDS, 2, SEED);
  }

  private static ShuffledSampler shuffled(Part part, Tail tail) {
    return new ShuffledSampler(SIZE, part, SEED, tail);
  }

  private static PythonDistributedSampler python(Part part) {
    return new PythonDistributedSampler(SIZE, part).withSeed(SEED);
  }

  private static BlockedSampler blocked(Part part) {
    return BlockedSampler.of(new ShuffledSampler(SIZE, SEED), 3, part);
  }

  private static LoadBalancingDistributedSampler.Builder balanced(Costs costs, Part part) {
    return LoadBalancingDistributedSampler.builder(costs, part, 3)
        .grouping(LoadBalancingDistributedSampler.StepGrouping.BUCKETED)
        .seed(SEED);
  }

  private static LoadBalancingDistributedSampler.Builder mixed(Costs costs, Part part) {
    return LoadBalancingDistributedSampler.builder(costs, part, 3)
        .grouping(LoadBalancingDistributedSampler.StepGrouping.MIXED)
        .seed(SEED);
  }

  private static BaguaLoadBalancingSampler bagua(Part part) {
    return new BaguaLoadBalancingSampler(COSTS, part).withSeed(SEED);
  }

  private static int[] pairs(long[] indices) {
    int[] sizes = new int[(indices.length + 1) / 2];
    Arrays.fill(sizes, 2);
    sizes[sizes.length - 1] = indices.length - 2 * (sizes.length - 1);
    return sizes;
  }

  private static DistributedBatchSampler wholeBatches(Part part) {
    return DistributedBatchSampler.ofWholeBatches(new ShuffledSampler(SIZE, SEED), 4, part);
  }

  private static DistributedBatchSampler globalBatches(Part part) {
    return DistributedBatchSampler.ofGlobalBatches(new ShuffledSampler(SIZE, SEED), 6, part);
  }

  private static TokenBudgetBatchSampler.Builder tokenBudget(Costs costs, long budget, Part part) {
    return TokenBudgetBatchSampler.builder(costs, budget).part(part).seed(SEED);
  }

  private static BatchSampler loaded(Part part) {
    return new FixedSizeBatchSampler(new ShuffledSampler(ROWS, part, SEED), 4);
  }

  private static TensorDataset tensors() {
    long[] firsts = new long[ROWS];
    long[] seconds = new long[ROWS];
    Arrays.setAll(firsts, i -> (long) i * i);
    Arrays.setAll(seconds, i -> -i);
    return TensorDataset.of(Tensor.create(firsts, ROWS), Tensor.create(seconds, ROWS));
  }

  private static DataLoader ofTensors(BatchSampler plan, int workers, boolean inOrder) {
    try (TensorDataset data = tensors()) {
      return described(DataLoader.over(data), plan, workers, inOrder).build();
    }
  }

  private static DataLoader ofSamples(
      Dataset data, BatchSampler plan, int workers, boolean inOrder) {
    return described(DataLoader.over(data), plan, workers, inOrder).seed(SEED).build();
  }

  private static DataLoaderBuilder described(
      DataLoaderBuilder builder, BatchSampler plan, int workers, boolean inOrder) {
    return builder.batchSampler(plan).workers(workers).prefetch(4).inOrder(inOrder);
  }

  private static DataLoader stream(StreamDataset data, Part part, int batchSize) {
    return DataLoader.over(data)
        .part(part)
        .batchSize(batchSize)
        .workers(1)
        .prefetch(3)
        .seed(SEED)
        .build();
  }

  private static StreamDataset rows(ObjectStreamDataset<String> texts) {
    return texts.encode(new Numbers());
  }

  private static ObjectStreamDataset<String> lines(Path folder, int shards, String... names) {
    return TextLines.of(paths(folder, names), shards).map(line -> line.text());
  }

  private static List<String> paths(Path folder, String... names) {
    return Arrays.stream(names).map(name -> folder.resolve(name).toString()).toList();
  }

  /** Lines "i,i*i modulo 97". */
  private static byte[] numbered(int first, int count, String end) {
    StringBuilder text = new StringBuilder();
    for (int i = first; i < first + count; i++) {
      text.append(i).append(',').append(i * i % 97).append(end);
    }
    return text.toString().getBytes(UTF_8);
  }

  /** A gzip file of one block that is not compressed: the same bytes with any version of zlib. */
  private static byte[] gzip(byte[] text) {
    CRC32 crc = new CRC32();
    crc.update(text);
    ByteBuffer packed = ByteBuffer.allocate(text.length + 23).order(ByteOrder.LITTLE_ENDIAN);
    packed.put(new byte[] {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, (byte) 255});
    packed.put((byte) 1).putShort((short) text.length).putShort((short) ~text.length);
    packed.put(text).putInt((int) crc.getValue()).putInt(text.length);
    return packed.array();
  }

  /** A zstd frame of one segment and one raw block. */
  private static byte[] zstd(byte[] text) {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    packed.writeBytes(new byte[] {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, 0x20});
    packed.write(text.length); // below 256
    int header = text.length << 3 | 1;
    packed.write(header);
    packed.write(header >>> 8);
    packed.write(header >>> 16);
    packed.writeBytes(text);
    return packed.toByteArray();
  }

  /** Sample i is its square, and a random number. */
  public record Squares() implements Dataset {
    @Override
    public long size() {
      return ROWS;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.putLong(0, index * index);
      sample.putLong(1, Math.floorMod(sample.random().nextLong(), 1000L));
    }
  }

  /** Shard s has the numbers 1000 s, 1000 s + 1 and so on, each with a random number. */
  private record Counters(PlanParameters parameters) implements StreamDataset {
    private static final int[] LENGTHS = {10, 0, 7, 21, 3};

    @Override
    public int shards() {
      return LENGTHS.length;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.INT64));
    }

    @Override
    public StreamDataset.SampleStream open(long epoch, int shard, @Nullable String position) {
      return new StreamDataset.SampleStream() {
        private long next = position == null ? 0 : Long.parseLong(position);

        @Override
        public boolean next(SampleWriter sample) {
          if (next == LENGTHS[shard]) {
            return false;
          }
          sample.putLong(0, shard * 1000L + next++);
          sample.putLong(1, Math.floorMod(sample.random().nextLong(), 1000L));
          return true;
        }

        @Override
        public String position() {
          return Long.toString(next);
        }
      };
    }
  }

  /** Shard s has the texts "s,0", "s,1" and so on. */
  private record Words() implements ObjectStreamDataset<String> {
    private static final int[] LENGTHS = {11, 4, 0, 9};

    @Override
    public int shards() {
      return LENGTHS.length;
    }

    @Override
    public ObjectStreamDataset.ObjectStream<String> open(
        long epoch, int shard, @Nullable String position) {
      return new ObjectStreamDataset.ObjectStream<>() {
        private int next = position == null ? 0 : Integer.parseInt(position);

        @Override
        public @Nullable String next() {
          return next == LENGTHS[shard] ? null : shard + "," + next++;
        }

        @Override
        public String position() {
          return Integer.toString(next);
        }
      };
    }
  }

  /** Writes texts of two numbers. */
  private record Numbers() implements SampleEncoder<String> {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.INT64));
    }

    @Override
    public void write(String text, SampleWriter sample) {
      int comma = text.indexOf(',');
      sample.putLong(0, Long.parseLong(text.substring(0, comma)));
      sample.putLong(1, Long.parseLong(text.substring(comma + 1)));
    }
  }
}
